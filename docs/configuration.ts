// docs/configuration.md and docs/tetrad.schema.json, made from the settings' own schema: no setting can be missing, and
// no default can be told wrong.

import { type Leaf, leaves, type SchemaNode, settingsNode } from '#runtime/config/leaves.ts'
import { defaultFile, otherVariables } from '#runtime/config.ts'

const otherMeanings: Readonly<Record<string, string>> = {
  TETRAD_CONFIG: 'The configuration file, as `--config`.',
  TETRAD_DATA: 'The data folder, as `--data`.',
  TETRAD_KEY: 'The API key that `tetrad ask` calls with, as `--key`.',
  TETRAD_URL: 'The server that `tetrad ask` calls, as `--url`.',
}

/** The schema for editors: a setting with a default may be left out. */
export function configurationSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: defaultFile,
    ...(relaxed(JSON.parse(JSON.stringify(settingsNode)) as SchemaNode) as object),
  }
}

function relaxed(node: SchemaNode): SchemaNode {
  const { required, properties, items, ...rest } = node
  const needed = required?.filter((name) => properties?.[name]?.default === undefined) ?? []
  return {
    ...rest,
    ...(needed.length > 0 && { required: needed }),
    ...(properties && { properties: mapped(properties) }),
    ...(items && { items: relaxed(items) }),
  }
}

const mapped = (properties: Readonly<Record<string, SchemaNode>>) =>
  Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, relaxed(member)]))

export function configurationPage(): string {
  const sections = Object.entries(settingsNode.properties ?? {}).map(([name, node]) => {
    const members = leaves.filter(({ path }) => path[0] === name)
    const lists = members.filter(({ node: { items } }) => items?.properties)
    return [`## ${name}`, node.description ?? '', settingsTable(members), ...lists.map(entryTable)].join('\n\n')
  })
  const others = otherVariables.map((name) => `| \`${name}\` | ${otherMeanings[name] ?? ''} |`)
  return `${[opening, ...sections, ['## Other variables\n', '| variable | meaning |', '|---|---|', ...others].join('\n')].join('\n\n')}\n`
}

const opening = `# Configuration

Generated from the settings' schema by \`npm run docs\`; change the schema, not this page.

Everything has a default, so a configuration says only what differs. Settings come from three places, and the later
wins (behaviour/http.md#configuration):

1. one YAML file: \`${defaultFile}\` in the working folder if it is there, or the one named with \`--config\`;
2. environment variables: \`TETRAD_\` and the setting's path, \`TETRAD_SERVER_PORT=9000\`. Lists and tables are written as
   JSON. An empty variable counts as not set;
3. flags: \`--host\` and \`--port\` of \`tetrad serve\`.

\`tetrad config check\` tells every problem with its file, line and column, \`tetrad config show\` prints what is in effect,
and \`tetrad config schema\` prints the JSON Schema, which is also in \`docs/tetrad.schema.json\`: an editor that understands
\`# yaml-language-server: $schema=docs/tetrad.schema.json\` at the top of the file completes names and checks values while
you type.`

const settingsTable = (members: readonly Leaf[]): string =>
  [
    '| setting | type | default | meaning | variable |',
    '|---|---|---|---|---|',
    ...members.map(
      ({ path, node, variable }) =>
        `| \`${path.join('.')}\` | ${typeText(node)} | ${defaultText(node)} | ${cell(node.description)} | \`${variable}\` |`,
    ),
  ].join('\n')

/** What one entry of a list of objects holds. */
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

function entryRows(node: SchemaNode, path: readonly string[]): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, member]) => {
    const here = [...path, name]
    if (member.properties) return entryRows(member, here)
    const optional = path.length > 0 || !(node.required ?? []).includes(name)
    const value = member.default === undefined ? (optional ? 'none' : 'needed') : defaultText(member)
    return [`| \`${here.join('.')}\` | ${typeText(member)} | ${value} | ${cell(member.description)} |`]
  })
}

function typeText(node: SchemaNode): string {
  if (node.enum) return node.enum.map((one) => `\`${one}\``).join(', ')
  if (node.type === 'array') return `list of ${node.items?.properties ? 'entries' : `${typeText(node.items ?? {})}s`}`
  if (node.type === 'object') return 'table of texts'
  const words = [node.type].flat().map((one) => (one === 'string' ? 'text' : one === 'boolean' ? 'switch' : one))
  const { minimum, maximum } = node
  const range = minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : ''
  return `${words.join(' or ')}${range || (minimum !== undefined ? `, at least ${minimum}` : '')}`
}

const defaultText = (node: SchemaNode): string =>
  node.default === ''
    ? 'empty'
    : `\`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``

const cell = (text = ''): string => text.replaceAll('|', '\\|')
