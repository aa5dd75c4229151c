/** Where one part of the page breaks, it says so in its own place, and the rest goes on. */
import { Component, type ReactNode } from "react";
import { wordsOf } from "@/api/client";

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
    return (
      <div role="alert" className="m-2 rounded-box bg-failed-soft px-3 py-2 text-failed">
        {this.props.what} cannot be shown: {wordsOf(this.state.error)}{" "}
        <button type="button" className="underline" onClick={() => this.setState({ error: undefined })}>
          Try again
        </button>
      </div>
    );
  }
}
