/** The API client, typed by the server's OpenAPI document. Failures are thrown as `ApiError`. */
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "@/gen/api";
import type { Problem } from "./types";

export class ApiError extends Error {
  readonly code: Problem["code"] | "unreachable";
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(
    code: ApiError["code"],
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
    if (!response.ok) throw await toApiError(response);
    return undefined;
  },
  onError() {
    return new ApiError("unreachable", UNREACHABLE, 0);
  },
};

async function toApiError(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as { error: Problem };
    return new ApiError(body.error.code, body.error.message, response.status, body.error.details ?? {});
  } catch {
    return new ApiError(
      "internal",
      `The server answered ${response.status} without an error message.`,
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

/** `await unwrap(api.GET("/config"))`: the response body; failures throw an `ApiError`. */
export async function unwrap<T>(request: Promise<{ data?: T; error?: unknown }>): Promise<NonNullable<T>> {
  const { data } = await request;
  return data as NonNullable<T>;
}

export const api = client;

/** A message for people, whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error && error.message ? error.message : "Something went wrong.";
}
