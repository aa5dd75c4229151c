/** Error boundary: a part of the page that throws shows its error, and the rest keeps working. */
import { Component, type ReactNode } from "react";
import { errorMessage } from "@/api/client";

/** Shown for a chunk the server no longer has: retrying cannot help, the page has to be reloaded. */
export const MISSING_PART = "this part could not be loaded. Nothing you wrote is lost.";

interface Props {
  label: string;
  /** A new value clears the error. */
  resetKey?: unknown;
  children: ReactNode;
}

export class ErrorBoundary extends Component<Props, { error: unknown }> {
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
    const message = errorMessage(this.state.error);
    const missing = message === MISSING_PART;
    const again = () => (missing ? window.location.reload() : this.setState({ error: undefined }));
    return (
      <div role="alert" className="m-2 rounded-box bg-failed-soft px-3 py-2 text-failed">
        {this.props.label} cannot be shown: {message}{" "}
        <button type="button" className="underline" onClick={again}>
          {missing ? "Reload the page" : "Try again"}
        </button>
      </div>
    );
  }
}
