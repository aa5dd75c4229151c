import { expect, it } from "vitest";
import { session } from "@/state/session.fixture";
import { writersIn } from "./busy";

const at = (id: string, cwd: string, more = {}) => session(id, { cwd, status: "running", ...more });

it("finds those that work in a directory, above it or below it", () => {
  const all = [
    at("a", "/w/shop"),
    at("b", "/w/shop/api"),
    at("c", "/w"),
    at("d", "/w/shopping"),
    at("e", "/x"),
  ];
  expect(writersIn(all, "/w/shop/", "/home/a").map((each) => each.id)).toEqual(["a", "b", "c"]);
});

it("leaves out those that have ended or only read, and understands ~", () => {
  const all = [
    at("done", "/home/a/x", { status: "completed" }),
    at("reads", "/home/a/x", { config: { ...session("x").config, workflow: "plan" } }),
    at("asks", "/home/a/x", { status: "waiting_input" }),
  ];
  expect(writersIn(all, "~/x", "/home/a").map((each) => each.id)).toEqual(["asks"]);
  expect(writersIn(all, "", "/home/a")).toEqual([]);
});
