/** Confirmation before actions that cannot be undone: force stop, delete, bypass. */
import { create } from "zustand";

export interface ConfirmRequest {
  title: string;
  text: string;
  /** Label of the confirming button. */
  action: string;
  danger?: boolean;
}

interface ConfirmState {
  question: ConfirmRequest | null;
  answer: (yes: boolean) => void;
}

export const useConfirmRequest = create<ConfirmState>(() => ({ question: null, answer: () => undefined }));

/** Resolves to the answer. A question that is still open is answered with no. */
export function confirm(question: ConfirmRequest): Promise<boolean> {
  useConfirmRequest.getState().answer(false);
  return new Promise((resolve) => {
    const answer = (yes: boolean) => {
      useConfirmRequest.setState({ question: null, answer: () => undefined });
      resolve(yes);
    };
    useConfirmRequest.setState({ question, answer });
  });
}
