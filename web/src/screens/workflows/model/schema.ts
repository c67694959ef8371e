/** The forms of GET /v1/node-types, read into fields that can be shown. */
import { isObject, type Json } from "../../../parts/graph/definition";

/** A JSON schema, as far as the API's forms use it. */
export interface Schema {
  title?: string;
  description?: string;
  type?: string;
  format?: string;
  enum?: readonly string[];
  default?: Json;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  sameAs?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
}

export interface NodeForm {
  type: string;
  about: string;
  isBranch?: boolean;
  sends?: boolean;
  schema: Schema;
}

export interface ChannelForm {
  channel: string;
  reachesContacts: boolean;
  needsTo: boolean;
  text: string | null;
  subject: string | null;
  schema: Schema;
}

export interface NodeTypes {
  nodes: readonly NodeForm[];
  workflow: { options: Schema; edge: Schema; step: Schema };
  channels: readonly ChannelForm[];
  liquid: { filters: readonly string[]; tags: readonly { name: string; end: string | null }[] };
  operators: readonly { name: string; takesValue: boolean }[];
  contactFilters: readonly string[];
}

/** How a field is edited. */
export type Control =
  | "line"
  | "liquid"
  | "text"
  | "html"
  | "json"
  | "number"
  | "yesNo"
  | "choice"
  | "duration"
  | "time"
  | "name"
  | "oneOrSeveral"
  | "list"
  | "pairs"
  | "group"
  | "groups"
  | "onFailure"
  | "report";

export interface FormField {
  name: string;
  title: string;
  about: string;
  schema: Schema;
  control: Control;
  required: boolean;
}

export interface FieldGroups {
  /** What nearly everybody fills in, in the order of the schema. */
  first: readonly FormField[];
  /** Of these, one is to be given: the body or the HTML, the duration or the time. */
  either: readonly FormField[];
  /** Whether giving one of them takes the others away. */
  isExclusive: boolean;
  more: readonly FormField[];
}

/** Fields that have a place of their own in a form. */
const APART = new Set(["id", "name", "type"]);
const LONG = new Set(["body", "script"]);

export function fieldsOf(schema: Schema, long: ReadonlySet<string> = LONG): FormField[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {})
    .filter(([name, one]) => !APART.has(name) && one.sameAs === undefined)
    .map(([name, one]) => fieldOf(name, one, required.has(name), long));
}

export function fieldOf(name: string, schema: Schema, required = false, long: ReadonlySet<string> = LONG): FormField {
  const control = controlOf(name, schema, long);
  return { name, title: schema.title ?? name, about: schema.description ?? "", schema, control, required };
}

export function groupsOf(schema: Schema): FieldGroups {
  const fields = fieldsOf(schema);
  const ways = (schema.oneOf ?? schema.anyOf ?? []).flatMap((one) => one.required ?? []);
  const either = ways.length > 1 ? fields.filter((field) => ways.includes(field.name)) : [];
  const isFirst = (field: FormField) => field.required || field.name === "to" || ways.includes(field.name) || FIRST.has(field.name);
  const rest = fields.filter((field) => !either.includes(field));
  return {
    first: rest.filter((field) => isFirst(field)),
    either,
    isExclusive: schema.oneOf !== undefined,
    more: rest.filter((field) => !isFirst(field)),
  };
}

const FIRST = new Set(["action", "payload", "payloadTemplate", "event", "title"]);

function controlOf(name: string, schema: Schema, long: ReadonlySet<string>): Control {
  if (name === "onFailure") return "onFailure";
  if (name === "onError") return "report";
  if (schema.anyOf) return controlOfSeveral(schema.anyOf);
  if (schema.enum) return "choice";
  if (schema.type === "string" || schema.type === undefined) return controlOfText(name, schema, long);
  if (schema.type === "boolean") return "yesNo";
  if (schema.type === "number" || schema.type === "integer") return "number";
  if (schema.type === "array") return schema.items?.type === "object" ? "groups" : "list";
  if (schema.format) return "json";
  return isObject(schema.additionalProperties) ? "pairs" : "group";
}

function controlOfSeveral(ways: readonly Schema[]): Control {
  if (ways.some((one) => one.type === "array")) return "oneOrSeveral";
  return ways.some((one) => one.format === "json") ? "json" : "line";
}

const BY_FORMAT: Readonly<Record<string, Control>> = {
  html: "html",
  duration: "duration",
  time: "time",
  json: "json",
  template: "name",
  sender: "name",
  function: "name",
};

function controlOfText(name: string, schema: Schema, long: ReadonlySet<string>): Control {
  if (schema.format === "liquid") return long.has(name) ? "text" : "liquid";
  return BY_FORMAT[schema.format ?? ""] ?? "line";
}

/** Whether a field holds nothing that is worth keeping in the file. */
export function isBlank(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
