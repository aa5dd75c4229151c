/** Icons, drawn with one stroke. They are decorative: the text beside them or an aria-label names them. */
const PATHS = {
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  chevronRight: "M6 4l4 4-4 4",
  chevronDown: "M4 6l4 4 4-4",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3",
  settings: "M3 5h7M13 5h0M3 11h2M8 11h5M11 3.5v3M6.5 9.5v3",
  chart: "M3 13V8M7 13V3M11 13V6M2 13.5h12",
  columns: "M2 3h12v10H2zM8 3v10",
  sidebar: "M2 3h12v10H2zM6 3v10",
  panel: "M2 3h12v10H2zM10 3v10",
  stop: "M4 4h8v8H4z",
  send: "M8 13V3M4 7l4-4 4 4",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  link: "M7 9a2.5 2.5 0 0 0 3.5 0l2-2A2.5 2.5 0 0 0 9 3.5l-1 1M9 7a2.5 2.5 0 0 0-3.5 0l-2 2A2.5 2.5 0 0 0 7 12.5l1-1",
  fork: "M5 5v6M5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 5c0 3-6 2-6 5",
  branch:
    "M5 5v6M5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6c0 2-3 3-6 3",
  folder: "M2 4h4l1.5 2H14v7H2z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  terminal: "M2 3h12v10H2zM5 6l2 2-2 2M8.5 10H11",
  check: "M3 8.5l3 3 7-7",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  archive: "M2 3h12v3H2zM3 6v7h10V6M6.5 9h3",
  trash: "M3 4h10M6 4V2.5h4V4M4.5 4l.5 9.5h6l.5-9.5",
  pin: "M8 9v5M5 2h6l-1 4 2 3H4l2-3z",
  edit: "M3 13l1-3 7-7 2 2-7 7z",
  retry: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  down: "M8 3v10M4 9l4 4 4-4",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  comment: "M2 3h12v8H8l-3 3v-3H2z",
  globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2 10 0 12M8 2c-2 2-2 10 0 12",
  robot: "M3 6h10v7H3zM8 6V3M6 9h.01M10 9h.01M6 11.5h4",
  list: "M3 4h.01M6 4h7M3 8h.01M6 8h7M3 12h.01M6 12h7",
  image: "M2 3h12v10H2zM5.5 7a1 1 0 1 0 0-2 1 1 0 0 0 0 2zM2 12l4-4 3 3 2-2 3 3",
  plug: "M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2",
  question: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.3a1.8 1.8 0 1 1 2.4 1.9c-.5.2-.7.5-.7 1M8 11.3h.01",
  filter: "M2 3h12l-4.5 5.5V13l-3-1.5v-3z",
  expand: "M9 3h4v4M7 13H3V9M13 3L9 7M3 13l4-4",
  bell: "M3.5 11.5c1-1 1-2 1-4.5a3.5 3.5 0 0 1 7 0c0 2.5 0 3.5 1 4.5zM6.8 13.8h2.4",
  keyboard: "M1.5 4h13v8h-13zM4 7h.01M6.5 7h.01M9 7h.01M11.5 7h.01M5 9.5h6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({
  name,
  size = 16,
  className = "",
}: {
  name: IconName;
  size?: number;
  className?: string;
}) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      className={`shrink-0 ${className}`}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
