/** What the build adds to Vite's: a compressed copy of each file, and of which sources the page was made. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const COMPRESSED = new Set([".js", ".css", ".html", ".svg", ".json"]);

/** What the page is made of; tools/page.py reads the same list. */
interface Sources {
  folders: string[];
  files: string[];
}

export function bundle(): Plugin {
  let into = "";
  return {
    name: "tidings-bundle",
    apply: "build",
    configResolved(config) {
      into = config.build.outDir;
    },
    closeBundle() {
      for (const path of filesBelow(into)) compress(path);
      writeFileSync(join(into, "sources.sha256"), `${hashOfSources(REPOSITORY)}\n`);
    },
  };
}

function compress(path: string): void {
  if (!COMPRESSED.has(extname(path)) || path.endsWith("index.html")) return;
  const plain = readFileSync(path);
  const packed = gzipSync(plain, { level: 9 });
  if (packed.length < plain.length * 0.95) writeFileSync(`${path}.gz`, packed);
}

/** The hash of every source, each with its path: `sha256sum` of the lines `<sha256>  <path>`, sorted by path. */
export function hashOfSources(root: string): string {
  const { folders, files } = JSON.parse(readFileSync(join(root, "web/sources.json"), "utf8")) as Sources;
  const paths = [...folders.flatMap((folder) => filesBelow(join(root, folder))), ...files.map((file) => join(root, file))];
  const relative = paths.map((path) => path.slice(root.length).replaceAll("\\", "/").replace(/^\//, ""));
  const lines = relative.sort().map((path) => `${sha256(readFileSync(join(root, path)))}  ${path}\n`);
  return sha256(lines.join(""));
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
