/** The tab's icon, with a dot while a request is pending. */
const SIZE = 64;
const DOT = "#e9a23b";
const RIM = "#16191d";

let drawn: Promise<string> | null = null;

export async function showFavicon(waiting: boolean): Promise<void> {
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (!link) return;
  link.dataset.waiting = String(waiting);
  if (!waiting) {
    set(link, "/icon.svg", "image/svg+xml");
    return;
  }
  drawn ??= draw();
  const dotted = await drawn;
  if (dotted && link.dataset.waiting === "true") set(link, dotted, "image/png");
}

function set(link: HTMLLinkElement, href: string, type: string): void {
  if (link.getAttribute("href") === href) return;
  link.type = type;
  link.href = href;
}

async function draw(): Promise<string> {
  try {
    const image = new Image(SIZE, SIZE);
    image.src = "/icon.svg";
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = SIZE;
    canvas.height = SIZE;
    const pen = canvas.getContext("2d");
    if (!pen) return "";
    pen.drawImage(image, 0, 0, SIZE, SIZE);
    for (const [radius, colour] of [
      [19, RIM],
      [15, DOT],
    ] as const) {
      pen.beginPath();
      pen.arc(SIZE - 17, 17, radius, 0, 2 * Math.PI);
      pen.fillStyle = colour;
      pen.fill();
    }
    return canvas.toDataURL("image/png");
  } catch {
    return ""; // the title shows it as well
  }
}
