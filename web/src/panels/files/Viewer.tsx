/** File viewer: text, or an image recognized by its bytes. Nothing in a file is ever run. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { FileContent, SessionView } from "@/api/types";
import { bytes, moment } from "@/format/values";
import { addToDraft } from "@/state/drafts";
import { Button, IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Empty } from "@/ui/Empty";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast } from "@/ui/toast";
import { PathName } from "../PathName";
import { usePanelSheet } from "../panelSheet";
import { rawUrl } from "./rawUrl";
import { TextLines } from "./TextLines";

const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)$/;

interface Props {
  session: SessionView;
  path: string;
  line: number;
  onBack?: () => void;
}

export function Viewer({ session, path, line, onBack }: Props) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["file", session.id, path],
    queryFn: () =>
      unwrap(api.GET("/sessions/{id}/file", { params: { path: { id: session.id }, query: { path } } })),
    staleTime: 2_000,
  });
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Head session={session} path={path} file={data} onAgain={() => void refetch()} onBack={onBack} />
      {data ? (
        <Body session={session} file={data} line={line} />
      ) : (
        !isPending && (
          <Empty
            title="This file cannot be shown"
            action={<Button onClick={() => void refetch()}>Try again</Button>}
          >
            {errorMessage(error)}
          </Empty>
        )
      )}
    </div>
  );
}

interface HeadProps {
  session: SessionView;
  path: string;
  file: FileContent | undefined;
  onAgain: () => void;
  onBack: (() => void) | undefined;
}

function Head({ session, path, file, onAgain, onBack }: HeadProps) {
  const mention = () => {
    addToDraft(session.id, `@${path} `);
    usePanelSheet.setState({ open: false });
    toast("Mentioned in the draft.");
  };
  return (
    <div className="hairline-b flex h-9 shrink-0 items-center gap-1 pr-1 pl-2 max-md:h-12">
      {onBack && (
        <IconButton label="Back to files" onClick={onBack}>
          <Icon name="chevronRight" className="rotate-180" />
        </IconButton>
      )}
      <PathName path={path} className="flex-1" />
      {file && <span className="tabular shrink-0 text-small text-ink-3">{bytes(file.size)}</span>}
      <IconButton label="Mention in message" onClick={mention}>
        <Icon name="comment" size={14} />
      </IconButton>
      <Menu
        label="More for this file"
        trigger={
          <IconButton label="More for this file">
            <Icon name="more" />
          </IconButton>
        }
      >
        {file?.kind === "text" && (
          <MenuItem icon="copy" onSelect={() => void copy(file.text ?? "", "Text copied")}>
            Copy text
          </MenuItem>
        )}
        <MenuItem icon="copy" onSelect={() => void copy(path, "Path copied")}>
          Copy path
        </MenuItem>
        <MenuItem icon="link" onSelect={() => void copy(linkTo(session.id, path), "Link copied")}>
          Copy link to file
        </MenuItem>
        <MenuItem icon="down" onSelect={() => download(session.id, path)}>
          Download
        </MenuItem>
        <MenuItem icon="retry" onSelect={onAgain}>
          Reload file
        </MenuItem>
      </Menu>
    </div>
  );
}

function Body({ session, file, line }: { session: SessionView; file: FileContent; line: number }) {
  if (file.kind === "text" && file.size === 0) return <Empty title="This file is empty" />;
  if (file.kind === "text") return <TextLines sessionId={session.id} file={file} line={line} />;
  if (IMAGE_TYPES.test(file.media_type)) return <FileImage sessionId={session.id} file={file} />;
  return (
    <Empty
      title="Not a text file"
      action={
        <Button icon={<Icon name="down" size={14} />} onClick={() => download(session.id, file.path)}>
          Download
        </Button>
      }
    >
      {`${file.media_type || "Unknown type"}, ${bytes(file.size)}, changed ${moment(file.modified * 1000)}.`}
    </Empty>
  );
}

function FileImage({ sessionId, file }: { sessionId: string; file: FileContent }) {
  const [caption, setCaption] = useState("");
  return (
    <figure className="m-0 flex min-h-0 flex-1 flex-col items-center justify-center gap-2 overflow-auto p-4">
      <img
        src={`${rawUrl(sessionId, file.path)}&at=${file.modified}`}
        alt={file.path}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setCaption(`${naturalWidth} × ${naturalHeight}, ${bytes(file.size)}`)
        }
        onError={() => setCaption("This image is broken or has an unsupported format.")}
        className="max-h-full min-h-0 max-w-full rounded-box bg-surface-2 object-contain"
      />
      <figcaption className="tabular text-small text-ink-3">{caption}</figcaption>
    </figure>
  );
}

function linkTo(sessionId: string, path: string): string {
  return `${location.origin}/session/${sessionId}?file=${encodeURIComponent(path)}`;
}

function download(sessionId: string, path: string): void {
  const link = document.createElement("a");
  link.href = rawUrl(sessionId, path);
  link.download = path.split("/").at(-1) ?? "file";
  link.click();
}
