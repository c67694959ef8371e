/** What a node does, in the one line that its card has room for. */
import { durationInWords } from "./duration";
import { fieldOf, isObject, type Json, type JsonObject, textOf } from "./definition";
import type { GraphNode } from "./graph";

/** What a message begins with, in the order a person reads it. */
const READ_FIRST = ["subject", "title", "body", "script", "event"];

export function summaryOf(node: GraphNode): string {
  if (node.type === "delay") return delayOf(node.fields);
  if (node.type === "function") return callOf(node.fields);
  if (node.type === "branch") return "";
  const found = READ_FIRST.map((name) => textOf(node.fields[name])).find((one) => one.trim());
  return (found ?? textOf(nameIn(node.fields["template"]))).replaceAll(/\s+/g, " ").trim();
}

function delayOf(fields: JsonObject): string {
  const until = textOf(fields["until"]);
  if (until) return `until ${until.replaceAll(/[{}]/g, "").trim()}`;
  const milliseconds = fieldOf(fields, "delayMs");
  if (typeof milliseconds === "number") return durationInWords(secondsWritten(milliseconds / 1000));
  return durationInWords(textOf(fields["duration"]));
}

function secondsWritten(seconds: number): string {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return `P${days}DT${hours}H${minutes}M${seconds % 60}S`;
}

function callOf(fields: JsonObject): string {
  const [called, action] = [textOf(fields["function"]), textOf(fields["action"])];
  return action && called ? `${called} · ${action}` : called;
}

function nameIn(value: Json | undefined): Json | undefined {
  return isObject(value) ? value["name"] : undefined;
}

/** Whom a message is for, as its card shows it. */
export function recipientOf(node: GraphNode): string {
  const to = node.fields["to"];
  const first = Array.isArray(to) ? textOf((to as readonly Json[])[0]) : textOf(to);
  const more = Array.isArray(to) && to.length > 1 ? ` +${to.length - 1}` : "";
  return first ? first.replaceAll(/\{\{\s*|\s*\}\}/g, "") + more : "";
}
