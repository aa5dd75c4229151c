/** Questions of MCP servers: reads the fields from the schema, checks what was typed, and builds the answer. */

export interface ElicitationField {
  name: string;
  title: string;
  about: string;
  required: boolean;
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
  /** `email`, `uri`, `date` or `date-time`; else empty. */
  format: string;
  choices: { value: string; label: string }[];
  initial: Value;
  minimum: number | null;
  maximum: number | null;
  shortest: number;
  longest: number | null;
}

/** Numbers are kept as they are typed. */
export type Value = string | boolean | readonly string[];
export type Values = Record<string, Value>;

export interface Elicitation {
  server: string;
  message: string;
  /** The address to open; else empty. */
  url: string;
  isUrl: boolean;
  fields: ElicitationField[];
}

const MOST_FIELDS = 100;

type Json = Record<string, unknown>;

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function isElicitation(call: { name: string }): boolean {
  return call.name === "Elicitation";
}

/** A server may ask for anything: what has no known form is left out. */
export function elicitationOf(input: Json): Elicitation {
  const schema = object(input.requested_schema);
  const properties = object(schema.properties);
  const required = Array.isArray(schema.required) ? schema.required : [];
  const names = Object.keys(properties).slice(0, MOST_FIELDS);
  return {
    server: text(input.mcp_server_name),
    message: text(input.message),
    url: text(input.url),
    isUrl: input.mode === "url",
    fields: names.flatMap((name) => fieldOf(name, object(properties[name]), required.includes(name))),
  };
}

function fieldOf(name: string, schema: Json, required: boolean): ElicitationField[] {
  const kind = kindOf(schema);
  if (!kind) return [];
  const choices = choicesOf(kind === "choices" ? object(schema.items) : schema);
  return [
    {
      name,
      title: text(schema.title) || name,
      about: text(schema.description),
      required,
      kind,
      format: text(schema.format),
      choices,
      initial: initialOf(kind, schema, choices),
      minimum: numberOf(schema.minimum),
      maximum: numberOf(schema.maximum),
      shortest: numberOf(schema.minLength) ?? 0,
      longest: numberOf(schema.maxLength),
    },
  ];
}

function kindOf(schema: Json): ElicitationField["kind"] | null {
  if (Array.isArray(schema.enum) || Array.isArray(schema.oneOf)) return "choice";
  switch (schema.type) {
    case "string":
      return "text";
    case "number":
    case "integer":
    case "boolean":
      return schema.type;
    case "array":
      return choicesOf(object(schema.items)).length > 0 ? "choices" : null;
    default:
      return null;
  }
}

function choicesOf(schema: Json): { value: string; label: string }[] {
  const titled = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(titled))
    return titled.flatMap((each) => {
      const { const: value, title } = object(each);
      return text(value) ? [{ value: text(value), label: text(title) || text(value) }] : [];
    });
  if (!Array.isArray(schema.enum)) return [];
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return schema.enum.flatMap((value, index) =>
    text(value) ? [{ value: text(value), label: text(names[index]) || text(value) }] : [],
  );
}

function initialOf(kind: ElicitationField["kind"], schema: Json, choices: { value: string }[]): Value {
  const given = schema.default;
  const known = (value: unknown): value is string => choices.some((each) => each.value === value);
  if (kind === "boolean") return given === true;
  if (kind === "choices") return Array.isArray(given) ? given.filter(known) : [];
  if (kind === "choice") return known(given) ? given : "";
  return typeof given === "string" || typeof given === "number" ? String(given) : "";
}

export function initialValues(fields: readonly ElicitationField[]): Values {
  return Object.fromEntries(fields.map((each) => [each.name, each.initial]));
}

/** What is wrong with a value; empty if it can be sent. */
export function problemOf(field: ElicitationField, value: Value): string {
  if (field.kind === "boolean") return "";
  if (typeof value !== "string")
    return field.required && (value as readonly string[]).length === 0 ? "Select at least one." : "";
  if (value.trim() === "") return field.required ? "Needed." : "";
  if (field.kind === "number" || field.kind === "integer") return numberProblem(field, Number(value));
  if (field.kind !== "text") return "";
  if (value.length < field.shortest) return `At least ${field.shortest} characters.`;
  if (field.longest !== null && value.length > field.longest) return `At most ${field.longest} characters.`;
  return "";
}

function numberProblem(field: ElicitationField, number: number): string {
  if (!Number.isFinite(number)) return "Not a number.";
  if (field.kind === "integer" && !Number.isInteger(number)) return "Not a whole number.";
  if (field.minimum !== null && number < field.minimum) return `At least ${field.minimum}.`;
  if (field.maximum !== null && number > field.maximum) return `At most ${field.maximum}.`;
  return "";
}

/** The content that is sent: what was left empty is left out. */
export function contentOf(fields: readonly ElicitationField[], values: Values): Json {
  const found: Json = {};
  for (const field of fields) {
    const value = values[field.name] ?? field.initial;
    if (field.kind === "boolean") found[field.name] = value === true;
    else if (typeof value !== "string") found[field.name] = value;
    else if (value.trim() === "") continue;
    else found[field.name] = field.kind === "number" || field.kind === "integer" ? Number(value) : value;
  }
  return found;
}
