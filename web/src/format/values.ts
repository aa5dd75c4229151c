/** Formats numbers, times, sizes and paths. */
import { serverNow } from "./serverClock";

export function ago(seconds: number, now = serverNow() / 1000): string {
  const passed = Math.max(0, now - seconds);
  if (passed < 60) return `${Math.floor(passed)}s`;
  if (passed < 3600) return `${Math.floor(passed / 60)}m`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)}h`;
  return `${Math.floor(passed / 86_400)}d`;
}

export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${Math.floor(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

export function money(dollars: number): string {
  return dollars === 0 ? "$0" : `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

// Created once: constructing a formatter costs more than using it a hundred times.
const NUMBERS = new Intl.NumberFormat("en");
const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const MOMENT = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "medium" });

export function count(number: number): string {
  return NUMBERS.format(number);
}

/** 12.3k, 1.2M: where the exact number does not matter. */
export function short(number: number): string {
  if (number < 1000) return String(number);
  if (number < 1_000_000) return `${(number / 1000).toFixed(number < 10_000 ? 1 : 0)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(1)} KB`;
  return `${(size / 1024 / 1024).toFixed(1)} MB`;
}

export function clock(milliseconds: number): string {
  return CLOCK.format(milliseconds);
}

export function moment(milliseconds: number): string {
  return MOMENT.format(milliseconds);
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A path with the home directory as `~`. */
export function shortPath(path: string, home = ""): string {
  return home && `${path}/`.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) || path;
}
