/** Asks before what cannot be undone: stopping by force, deleting, bypassing. Nothing else asks. */
import { create } from "zustand";

export interface Question {
  title: string;
  words: string;
  /** What the button says: the deed itself. */
  action: string;
  danger?: boolean;
}

interface Asking {
  question: Question | null;
  answer: (yes: boolean) => void;
}

export const useQuestion = create<Asking>(() => ({ question: null, answer: () => undefined }));

/** Whether it is meant. A question that is still open is taken for a no. */
export function confirm(question: Question): Promise<boolean> {
  useQuestion.getState().answer(false);
  return new Promise((resolve) => {
    const answer = (yes: boolean) => {
      useQuestion.setState({ question: null, answer: () => undefined });
      resolve(yes);
    };
    useQuestion.setState({ question, answer });
  });
}
