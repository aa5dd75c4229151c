/** Where one part of the page breaks, it says so in its own place, and the rest goes on. */
import { Component, type ReactNode } from "react";
import { wordsOf } from "@/api/client";

/** Said of a part that the server no longer has: asking for it again is no use, the page has to be loaded anew. */
export const MISSING_PART = "this part could not be loaded. Nothing you wrote is lost.";

interface Props {
  what: string;
  /** Another value is another chance. */
  resetKey?: unknown;
  children: ReactNode;
}

export class Boundary extends Component<Props, { error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: Props) {
    if (before.resetKey !== this.props.resetKey && this.state.error !== undefined)
      this.setState({ error: undefined });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    const words = wordsOf(this.state.error);
    const missing = words === MISSING_PART;
    const again = () => (missing ? window.location.reload() : this.setState({ error: undefined }));
    return (
      <div role="alert" className="m-2 rounded-box bg-failed-soft px-3 py-2 text-failed">
        {this.props.what} cannot be shown: {words}{" "}
        <button type="button" className="underline" onClick={again}>
          {missing ? "Reload the page" : "Try again"}
        </button>
      </div>
    );
  }
}
