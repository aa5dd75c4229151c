/** Copies text to the clipboard and confirms it with a toast. */
import { toast } from "./toast";

export async function copy(text: string, what = "Copied"): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    toast.error("The browser did not allow copying.");
  }
}
