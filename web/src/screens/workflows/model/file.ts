/** The file that `workflows apply` takes, as YAML or as JSON: copied out of the editor and pasted into it. */
import type { Document, YAMLError } from "yaml";
import { type Definition, isObject, type Json, type JsonObject, objectsIn } from "../../../parts/graph/definition";

export interface WorkflowFile {
  name: string;
  description: string | null;
  active: boolean | null;
  definition: Definition;
}

export type FileFormat = "yaml" | "json";

/** A text that is no workflow; `line` is where, if that is known. */
export class FileProblem extends Error {
  override name = "FileProblem";

  constructor(
    readonly code: "empty" | "several" | "notAnObject" | "notJson" | "notYaml",
    readonly detail = "",
    readonly line?: number,
  ) {
    super(detail || code);
  }
}

const ABOUT = new Set(["name", "description", "active"]);
/** As the command line reads YAML: `yes` is true, and a time stays the words that were written. */
const AS_THE_COMMAND_READS = { version: "1.1", customTags: (tags: unknown) => (tags as (string | { tag?: string })[]).filter((one) => typeof one === "string" || one.tag !== "tag:yaml.org,2002:timestamp") } as const;

export async function writeFile({ name, description, active, definition }: WorkflowFile, format: FileFormat): Promise<string> {
  const whole = { name, ...(description ? { description } : {}), ...(active === null ? {} : { active }), ...definition };
  if (format === "json") return `${JSON.stringify(whole, null, 2)}\n`;
  const { Document } = await import("yaml");
  const document = new Document(whole, AS_THE_COMMAND_READS as object);
  await shorten(document);
  return document.toString({ lineWidth: 120, flowCollectionPadding: true });
}

const SHORTEST_BLOCK = 100;

/** Edges and small nodes stand in one line each, as people write them. */
async function shorten(document: Document): Promise<void> {
  const { isCollection, isMap, visit } = await import("yaml");
  visit(document, {
    Map: (place, map, path) => {
      const isEntry = path.length > 2 && typeof place === "number";
      const text = JSON.stringify(map.toJSON());
      if (isMap(map) && isEntry && text.length < SHORTEST_BLOCK && !text.includes("\\n")) map.flow = true;
    },
    Seq: (_, list) => {
      if (isCollection(list) && list.items.every((one) => !isCollection(one)) && list.items.length < 6) list.flow = true;
    },
  });
}

export async function readFile(text: string): Promise<WorkflowFile> {
  if (!text.trim()) throw new FileProblem("empty");
  const value = text.trimStart().startsWith("{") ? await readJsonOrYaml(text) : await readYaml(text);
  const found = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value;
  if (Array.isArray(found)) throw new FileProblem("several");
  if (!isObject(found)) throw new FileProblem("notAnObject");
  return fileOf(found);
}

function fileOf(found: JsonObject): WorkflowFile {
  const inner = found["definition"];
  const beside = Object.fromEntries(Object.entries(found).filter(([name]) => !ABOUT.has(name)));
  const { name, description, active } = found;
  return {
    name: typeof name === "string" ? name : "",
    description: typeof description === "string" ? description : null,
    active: typeof active === "boolean" ? active : null,
    definition: isObject(inner) ? inner : beside,
  };
}

/** An object in YAML's short form begins like JSON. */
async function readJsonOrYaml(text: string): Promise<Json> {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    return readYaml(text).catch(() => {
      throw new FileProblem("notJson", error instanceof Error ? error.message : "");
    });
  }
}

async function readYaml(text: string): Promise<Json> {
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text, { ...(AS_THE_COMMAND_READS as object), uniqueKeys: true }) as Document.Parsed[];
  const wrong = documents.flatMap((one) => one.errors)[0];
  if (wrong) throw new FileProblem("notYaml", firstLine(wrong), wrong.linePos?.[0].line);
  const filled = documents.map((one) => one.toJS({ maxAliasCount: 100 }) as Json).filter((one) => one !== null);
  if (filled.length === 0) throw new FileProblem("empty");
  if (filled.length > 1) throw new FileProblem("several");
  return filled[0] ?? null;
}

function firstLine(error: YAMLError): string {
  return error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
}

/** Whether there is anything to lose in it. */
export function hasParts(definition: Definition): boolean {
  return objectsIn(definition["nodes"]).length + objectsIn(definition["steps"]).length > 0;
}
