import type { ItemDetail } from "@tidings/client";
import { expect, it } from "vitest";
import { asPreview } from "../../../src/parts/message/as-preview";
import { triedOf } from "../../../src/parts/message/tried";

it("shows a payload as a preview does: texts as they are, what has parts as JSON", () => {
  const shown = asPreview("email", "ada@example.com", { subject: "Hi", cc: ["bob@example.com"], html: null });

  expect(shown.recipients).toEqual(["ada@example.com"]);
  expect(shown.content).toEqual({ subject: "Hi", cc: '["bob@example.com"]' });
});

it("tells what happened to a message in the order of time", () => {
  const item = {
    createdAt: "2026-03-02T09:00:00Z",
    finalizedAt: "2026-03-02T10:00:00Z",
    status: "sent",
    inDoubt: false,
    error: null,
    providerMessageId: null,
    failedAttempts: [{ attempt: 1, provider: "smtp", outcome: "unknown", error: "no answer", startedAt: "2026-03-02T09:00:01Z", endedAt: "2026-03-02T09:00:02Z" }],
    history: [{ event: "resolved", actor: "user:ada@example.com", detail: { outcome: "sent", note: "in its log" }, at: "2026-03-02T09:59:59Z" }],
  } as unknown as ItemDetail;

  const told = triedOf(item);

  expect(told.map((one) => one.title)).toEqual(["Planned", "Attempt 1 · smtp: Unknown", "Resolved · user:ada@example.com", "Sent"]);
  expect(told[2]?.about).toBe("outcome: sent, note: in its log");
});
