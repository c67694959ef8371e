import { describe, expect, it } from "vitest";
import { carriedOver, fieldsOf, problemsBelow, writtenOf } from "../../src/parts/content/content";
import type { ChannelForm } from "../../src/screens/workflows/model/schema";

const form = (channel: string, text: string, subject: string | null): ChannelForm => ({ channel, text, subject, reachesContacts: true, needsTo: false, schema: {} });
const email = form("email", "body", "subject");
const push = form("push", "body", "title");
const voice = form("voice", "script", null);

describe("the content of a step", () => {
  it("is an object while it is edited, and plain again where that says everything", () => {
    const fields = fieldsOf({ subject: "Hello", content: "Good day." }, email);
    expect(fields).toEqual({ subject: "Hello", body: "Good day." });
    expect(writtenOf(fields, email)).toEqual({ subject: "Hello", content: "Good day." });
  });

  it("stays an object where there is more than a text", () => {
    const fields = { body: "Good day.", html: "<p>Good day.</p>" };
    expect(writtenOf(fields, email)).toEqual({ subject: null, content: fields });
    expect(fieldsOf({ subject: null, content: fields }, email)).toEqual(fields);
  });

  it("goes along to another channel as far as that has a place for it", () => {
    expect(carriedOver({ subject: "Hello", body: "Good day.", html: "<p>" }, email, push)).toEqual({ title: "Hello", body: "Good day." });
    expect(carriedOver({ subject: "Hello", body: "Good day." }, email, voice)).toEqual({ script: "Good day." });
  });
});

it("puts the API's problems at the fields of the form", () => {
  const errors = [
    { place: "steps[0].content", message: "is empty" },
    { place: "steps[0].content.html", message: "has no end" },
    { place: "steps[0].subject", message: "is too long" },
    { place: "steps[1].content", message: "of another" },
    { place: "steps[0].dayOffset", message: "elsewhere" },
  ];
  expect(problemsBelow(errors, "steps[0]", "content", email)).toEqual([
    { field: "body", message: "is empty" },
    { field: "html", message: "has no end" },
    { field: "subject", message: "is too long" },
  ]);
});
