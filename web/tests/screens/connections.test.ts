import type { KindSetting, ProviderConnection, ProviderKindView } from "@tidings/client";
import { describe, expect, it } from "vitest";
import { changesOf, daysOf, draftOf, freeName, givenOf, limitsOf, newDraft, NO_RATES } from "../../src/screens/connections/draft";
import { isFound } from "../../src/screens/connections/kinds";
import { limitRows, limitsInWords, partsOf, settingName } from "../../src/screens/connections/words";

const setting = (name: string, more: Partial<KindSetting> = {}): KindSetting => ({
  name,
  doc: "",
  type: "text",
  required: false,
  secret: false,
  default: null,
  choices: [],
  example: "",
  ...more,
});

const SMTP: ProviderKindView = {
  name: "smtp",
  title: "SMTP",
  channels: ["email"],
  settings: [
    setting("host", { required: true }),
    setting("port", { type: "number", default: 587 }),
    setting("verify", { type: "flag" }),
    setting("password", { secret: true }),
  ],
  documents: [],
};

const STORED: ProviderConnection = {
  id: "0190a000-0000-7000-8000-000000000001",
  name: "smtp",
  channel: "email",
  provider: "smtp",
  settings: { host: "mail.example.com", port: 25, verify: true },
  credentials: ["password"],
  limits: { perMinute: 600, warmUp: [50, 100], perDomain: { "gmail.com": { perSecond: 2 } } },
  position: 2,
  weight: 1,
  sticky: false,
  enabled: true,
  operators: false,
  state: "ready",
  circuit: "closed",
  restsUntil: null,
  reason: null,
  createdAt: null,
  updatedAt: null,
  activity: null,
};

describe("the form of a new connection", () => {
  it("takes the first name that is free", () => {
    expect(freeName("smtp", [])).toBe("smtp");
    expect(freeName("smtp", ["smtp", "smtp-2"])).toBe("smtp-3");
  });

  it("gives what is filled in, each value in its type", () => {
    const draft = { ...newDraft(SMTP, []), settings: { host: "mail.example.com", port: "25", verify: "false" }, credentials: { password: "x" } };

    expect(givenOf(SMTP, draft)).toEqual({
      name: "smtp",
      provider: "smtp",
      settings: { host: "mail.example.com", port: 25, verify: false },
      credentials: { password: "x" },
    });
  });

  it("leaves a number that is none to the server", () => {
    const draft = { ...newDraft(SMTP, []), settings: { port: "many" } };

    expect(givenOf(SMTP, draft).settings).toEqual({ port: "many" });
  });

  it("names the channel only where there are several", () => {
    const several: ProviderKindView = { ...SMTP, channels: ["sms", "push"] };

    expect(givenOf(several, { ...newDraft(several, []), channel: "push" }).channel).toBe("push");
    expect(givenOf(SMTP, newDraft(SMTP, []))).not.toHaveProperty("channel");
  });
});

describe("a change of a connection", () => {
  const before = draftOf(STORED);

  it("is nothing where nothing was changed", () => {
    expect(changesOf(SMTP, before, before)).toEqual({});
  });

  it("holds what is different, and null for what is taken away", () => {
    const draft = { ...before, name: "relay", settings: { ...before.settings, port: "", verify: "false" }, forgotten: ["password"] };

    expect(changesOf(SMTP, before, draft)).toEqual({
      name: "relay",
      settings: { port: null, verify: false },
      credentials: { password: null },
    });
  });

  it("keeps the limits that were not touched beside those that were", () => {
    const draft = { ...before, limits: { ...before.limits, perMinute: "", concurrency: "4" } };

    expect(changesOf(SMTP, before, draft).limits).toEqual({
      concurrency: 4,
      warmUp: [50, 100],
      perDomain: { "gmail.com": { perSecond: 2 } },
    });
  });
});

describe("limits", () => {
  it("are read from what is typed", () => {
    const domain = { ...NO_RATES, domain: " Gmail.com ", perDay: "7" };

    expect(limitsOf({ ...NO_RATES, concurrency: "", warmUp: "5 10", perDomain: [domain, { ...NO_RATES, domain: "" }] })).toEqual({
      warmUp: [5, 10],
      perDomain: { "gmail.com": { perDay: 7 } },
    });
    expect(daysOf("50, many")).toBeNull();
    expect(daysOf("")).toEqual([]);
  });

  it("are said in one line, and row by row with what is taken", () => {
    expect(limitsInWords({ perSecond: 10, perMinute: 6000, warmUp: [1] })).toBe("10/s · 6,000/min · warming up");
    expect(limitsInWords({})).toBe("");
    expect(limitRows({ perMinute: 600, concurrency: 4 }, { perMinute: 17 })).toEqual([
      { name: "perMinute", most: 600, used: 17 },
      { name: "concurrency", most: 4, used: null },
    ]);
  });
});

describe("the words of a kind", () => {
  it("name its settings", () => {
    expect(settingName("apiKey")).toBe("API key");
    expect(settingName("baseUrl")).toBe("Base URL");
    expect(settingName("from")).toBe("From");
  });

  it("tell what is code", () => {
    expect(partsOf("use `tls` there")).toEqual([
      { text: "use ", isCode: false },
      { text: "tls", isCode: true },
      { text: " there", isCode: false },
    ]);
  });

  it("are found by name and by channel", () => {
    expect(isFound(SMTP, "smt")).toBe(true);
    expect(isFound(SMTP, "e-mail")).toBe(true);
    expect(isFound(SMTP, "sms")).toBe(false);
  });
});
