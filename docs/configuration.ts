// Generates docs/configuration.md and docs/tetrad.schema.json from the schema of the settings.

import type { JsonSchema } from '#api/contract/schema.ts'
import { type Leaf, leaves, settingsNode } from '#runtime/config/leaves.ts'
import { defaultFile, otherVariables } from '#runtime/config.ts'
import { textFor } from '#runtime/settings/server.ts'
import { wrapParagraph } from './endpoints.ts'

const otherDescriptions: Readonly<Record<string, string>> = {
  TETRAD_CONFIG: 'The configuration file, as `--config`.',
  TETRAD_DATA: 'The data folder, as `--data`.',
  TETRAD_KEY: 'The API key of `tetrad ask`, as `--key`.',
  TETRAD_URL: 'The server of `tetrad ask`, `mcp` and `console link`, as `--url`.',
}

/** The schema for editors, in which settings with a default are optional. */
export function configurationSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: defaultFile,
    ...(withOptionalDefaults(JSON.parse(JSON.stringify(settingsNode)) as JsonSchema) as object),
  }
}

function withOptionalDefaults(node: JsonSchema): JsonSchema {
  const { required, properties, items, patternProperties, [textFor]: member, ...rest } = node
  const stillRequired = required?.filter((name) => properties?.[name]?.default === undefined) ?? []
  const schema = {
    ...rest,
    ...(stillRequired.length > 0 && { required: stillRequired }),
    ...(properties && { properties: mapProperties(properties) }),
    ...(items && { items: withOptionalDefaults(items) }),
    ...(patternProperties && { patternProperties: mapProperties(patternProperties) }),
  }
  const text = member === undefined ? undefined : properties?.[member]
  return text ? { anyOf: [text, schema] } : schema
}

const mapProperties = (properties: Readonly<Record<string, JsonSchema>>) =>
  Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, withOptionalDefaults(member)]))

export function configurationPage(): string {
  const sections = Object.entries(settingsNode.properties ?? {}).map(([name, node]) => {
    const members = leaves.filter(({ path }) => path[0] === name)
    const lists = members.filter(({ node: { items } }) => items?.properties)
    return [`## ${name}`, wrapParagraph(node.description ?? ''), settingsTable(members), ...lists.map(entryTable)].join(
      '\n\n',
    )
  })
  const others = otherVariables.map((name) => `| \`${name}\` | ${otherDescriptions[name] ?? ''} |`)
  return `${[opening, ...sections, ['## Other variables\n', '| variable | meaning |', '|---|---|', ...others].join('\n')].join('\n\n')}\n`
}

const opening = `# Configuration

Generated from the schema of the settings by \`npm run docs\`. Change the schema, not this page.

Every setting has a default, so a configuration contains only what differs. Settings come from three
places. Later ones override earlier ones ([details](behaviour/http.md#configuration)):

1. a YAML file: \`${defaultFile}\` in the working folder if it exists, or the file of \`--config\`;
2. environment variables: \`TETRAD_\` and the path of the setting, for example
   \`TETRAD_SERVER_PORT=9000\`. Lists and tables are JSON. An empty variable counts as not set;
3. flags: \`--host\` and \`--port\` of \`tetrad serve\`.

| command | what it does |
|---|---|
| \`tetrad config check\` | lists every error with its file, line and column |
| \`tetrad config show\` | prints the effective settings |

For completion and checks in your editor, add this line at the top of the file:
\`# yaml-language-server: $schema=node_modules/tetrad/docs/tetrad.schema.json\`. In a checkout, the
schema is \`docs/tetrad.schema.json\`.`

const settingsTable = (members: readonly Leaf[]): string =>
  [
    '| setting | type | default | meaning | variable |',
    '|---|---|---|---|---|',
    ...members.map(
      ({ path, node, variable }) =>
        `| \`${path.join('.')}\` | ${typeText(node)} | ${defaultText(node)} | ${cell(node.description)} | \`${variable}\` |`,
    ),
  ].join('\n')

/** The settings of one entry of a list of objects. */
function entryTable({ path, node }: Leaf): string {
  const rows = entryRows(node.items ?? {}, [])
  return [
    `Each entry of \`${path.join('.')}\`:`,
    '',
    '| name | type | default | meaning |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function entryRows(node: JsonSchema, path: readonly string[]): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, member]) => {
    const memberPath = [...path, name]
    if (member.properties) return entryRows(member, memberPath)
    const optional = path.length > 0 || !(node.required ?? []).includes(name)
    const value = member.default === undefined ? (optional ? 'none' : 'required') : defaultText(member)
    return [`| \`${memberPath.join('.')}\` | ${typeText(member)} | ${value} | ${cell(member.description)} |`]
  })
}

function typeText(node: JsonSchema): string {
  if (node.enum) return node.enum.map((value) => `\`${value}\``).join(', ')
  if (node.type === 'array') return `list of ${itemsText(node.items ?? {})}`
  if (node.type === 'object') return 'table of strings'
  const types = [node.type].flat()
  const { minimum, maximum } = node
  const range = minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : ''
  return `${types.join(' or ')}${range || (minimum !== undefined ? `, at least ${minimum}` : '')}`
}

const itemsText = (items: JsonSchema): string =>
  items.properties ? 'entries' : items.enum ? typeText(items) : typeText(items).replace(/^\w+/, '$&s')

const defaultText = (node: JsonSchema): string =>
  node.default === ''
    ? 'empty'
    : `\`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``

const cell = (text = ''): string => text.replaceAll('|', '\\|')
