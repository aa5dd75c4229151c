import { describe, expect, it } from "vitest";
import { contentOf, elicitationOf, initialValues, problemOf } from "./elicitation";

function fieldsOf(properties: Record<string, unknown>, required: string[] = []) {
  const requested_schema = { type: "object", properties, required };
  return elicitationOf({ mcp_server_name: "srv", message: "?", mode: "form", requested_schema }).fields;
}

describe("the fields of a question", () => {
  it("are made of the schema", () => {
    const fields = fieldsOf(
      {
        name: { type: "string", title: "Your name", description: "As on the card", maxLength: 5 },
        age: { type: "integer", minimum: 18 },
        share: { type: "number", default: 0.5 },
        news: { type: "boolean", default: true },
        size: { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"], default: "l" },
        tone: { oneOf: [{ const: "a", title: "Warm" }, { const: "b" }] },
        days: { type: "array", items: { enum: ["mo", "tu"] } },
        odd: { type: "object" },
        nothing: 5,
      },
      ["name"],
    );
    expect(fields.map((each) => [each.name, each.kind])).toEqual([
      ["name", "text"],
      ["age", "integer"],
      ["share", "number"],
      ["news", "boolean"],
      ["size", "choice"],
      ["tone", "choice"],
      ["days", "choices"],
    ]);
    expect(fields[0]).toMatchObject({ title: "Your name", about: "As on the card", required: true });
    expect(fields[4]?.choices).toEqual([
      { value: "s", label: "Small" },
      { value: "l", label: "Large" },
    ]);
    expect(fields[5]?.choices[1]).toEqual({ value: "b", label: "b" });
    expect(initialValues(fields)).toMatchObject({ share: "0.5", news: true, size: "l", days: [] });
  });

  it("survive a schema that is nonsense", () => {
    for (const requested_schema of [null, 5, [], { properties: [] }, { properties: { a: null } }])
      expect(elicitationOf({ requested_schema }).fields).toEqual([]);
  });
});

describe("what was typed", () => {
  const [name, age, news, size] = fieldsOf(
    {
      name: { type: "string", minLength: 2, maxLength: 3 },
      age: { type: "integer", minimum: 18, maximum: 99 },
      news: { type: "boolean" },
      size: { type: "string", enum: ["s", "l"] },
    },
    ["name", "size"],
  );
  if (!name || !age || !news || !size) throw new Error("a field is missing");

  it("is checked before it is sent", () => {
    expect(problemOf(name, "")).toBe("Needed.");
    expect(problemOf(name, "a")).toContain("At least 2");
    expect(problemOf(name, "abcd")).toContain("At most 3");
    expect(problemOf(age, "")).toBe("");
    expect(problemOf(age, "x")).toBe("Not a number.");
    expect(problemOf(age, "20.5")).toBe("Not a whole number.");
    expect(problemOf(age, "17")).toBe("At least 18.");
    expect(problemOf(age, "100")).toBe("At most 99.");
    expect(problemOf(age, "42")).toBe("");
    expect(problemOf(size, "")).toBe("Needed.");
  });

  it("is sent with the types of the schema, without what was left empty", () => {
    const fields = [name, age, news, size];
    expect(contentOf(fields, { name: "Ada", age: "42", news: true, size: "" })).toEqual({
      name: "Ada",
      age: 42,
      news: true,
    });
    expect(contentOf(fields, {})).toEqual({ news: false });
  });
});
