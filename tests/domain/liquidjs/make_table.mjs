// Fills in what the real LiquidJS prints for every template of table.json, and writes the table back.
//
// Only for development: the tests read the table and need neither Node nor LiquidJS. To add facts, write
// ["{{ template }}", null] under a group, then run in an empty folder
//
//     npm install liquidjs@10
//     cp <repository>/tests/domain/liquidjs/make_table.mjs .
//     TZ=UTC LC_ALL=en_US.UTF-8 node make_table.mjs <repository>/tests/domain/liquidjs/table.json
//
// LiquidJS runs with its default options, but refuses unknown filters; the clock stands at the table's "now".
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Liquid } from 'liquidjs'

const path = process.argv[2]
const table = JSON.parse(readFileSync(path, 'utf8'))
const now = Date.parse(table.now)
Date.now = () => now

function fact ([template]) {
  const engine = new Liquid({ strictFilters: true, locale: 'en-US' })
  try {
    return [template, engine.parseAndRenderSync(template, structuredClone(table.data))]
  } catch (error) {
    return [template, { error: error.message.replace(/, (file:|line:).*/s, '') }]
  }
}

table.liquidjs = createRequire(import.meta.url)('liquidjs/package.json').version
const groups = Object.entries(table.facts).map(([name, facts]) => {
  const lines = facts.map(one => '      ' + JSON.stringify(fact(one)))
  return `    ${JSON.stringify(name)}: [\n${lines.join(',\n')}\n    ]`
})
const data = Object.entries(table.data).map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
writeFileSync(path, `{
  "liquidjs": ${JSON.stringify(table.liquidjs)},
  "now": ${JSON.stringify(table.now)},
  "data": {
${data.join(',\n')}
  },
  "facts": {
${groups.join(',\n')}
  }
}
`)
