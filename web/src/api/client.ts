/** The one way to ask the server: typed by its own document; what goes wrong comes as an `ApiProblem` with words. */
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "@/gen/api";
import type { Problem } from "./types";

export class ApiProblem extends Error {
  readonly code: Problem["code"] | "unreachable";
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(
    code: ApiProblem["code"],
    message: string,
    status: number,
    details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiProblem";
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

const UNREACHABLE = "Can't reach the server.";

const failures: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await problemOf(response);
    return undefined;
  },
  onError() {
    return new ApiProblem("unreachable", UNREACHABLE, 0);
  },
};

async function problemOf(response: Response): Promise<ApiProblem> {
  try {
    const said = (await response.json()) as { error: Problem };
    return new ApiProblem(said.error.code, said.error.message, response.status, said.error.details ?? {});
  } catch {
    return new ApiProblem(
      "internal",
      `The server answered ${response.status} without words.`,
      response.status,
    );
  }
}

const client = createClient<paths>({
  baseUrl: "/api/v1",
  credentials: "same-origin",
  fetch: (request) => globalThis.fetch(request),
});
client.use(failures);

/** `await said(api.GET("/config"))`: the answer, or an `ApiProblem` thrown. */
export async function said<T>(asked: Promise<{ data?: T; error?: unknown }>): Promise<NonNullable<T>> {
  const { data } = await asked;
  return data as NonNullable<T>;
}

export const api = client;

/** Words for a person, whatever was thrown. */
export function wordsOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : "Something went wrong.";
}
