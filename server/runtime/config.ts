// Loads the settings from a YAML file, the environment and flags, with increasing priority
// (behaviour/http.md#configuration). All problems are reported together, each with its file and line, variable or flag.
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { JsonSchema } from '#api/contract/schema.ts'
import type { Problem } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'
import { complete } from '#core/schema-check.ts'
import { didYouMean, findClosest } from './config/closest-name.ts'
import { type Leaf, leaves, nodeAt, settingsNode } from './config/leaves.ts'
import type { YamlFile } from './config/yaml.ts'
import type { Environment } from './environment.ts'
import { readText } from './read-text-file.ts'
import { aliasProblems } from './settings/aliases.ts'
import { duplicateProblems } from './settings/duplicate-problems.ts'
import { fxProblems } from './settings/fx.ts'
import { takeoverProblems } from './settings/fx-sources.ts'
import { textFor } from './settings/server.ts'
import { networkProblems } from './settings/validators.ts'
import { type Settings, SettingsSchema } from './settings.ts'

export const defaultFile = 'tetrad.yaml'
const prefix = 'TETRAD_'
const fileBytesMax = 1_048_576
const foundCharsMax = 60

/** Variables that the command line reads and that are not settings. */
export const otherVariables = ['TETRAD_CONFIG', 'TETRAD_DATA', 'TETRAD_KEY', 'TETRAD_URL']

/** One setting given on the command line. */
export interface Flag {
  /** As typed: `--port`. */
  readonly name: string
  /** `server.port` */
  readonly path: string
  readonly text: string
}

export interface Config {
  readonly settings: Settings
  /** Where settings came from, except defaults. */
  readonly sources: {
    readonly file: string | undefined
    readonly variables: readonly string[]
    readonly flags: readonly string[]
  }
  /** Whether anything except address, log, aliases and MCP is configured. Otherwise the server shows the demo. */
  readonly configured: boolean
}

export interface ConfigProblem {
  /** `tetrad.yaml:3:9`, `TETRAD_SERVER_PORT` or `--port` */
  readonly where: string
  readonly message: string
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]
  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ where, message }) => `\n  ${where}  ${message}`)
    super(`The configuration is not valid.${lines.join('')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export interface ConfigRequest {
  /** Must exist if given. Default: `tetrad.yaml`, if it exists. */
  readonly file?: string | undefined
  readonly env: Environment
  readonly flags: readonly Flag[]
  /** Folder that file names are relative to. */
  readonly folder?: string
}

export async function loadConfig(request: ConfigRequest): Promise<Config> {
  const requestedFile = request.file ?? (request.env.TETRAD_CONFIG || undefined)
  const name = requestedFile ?? defaultFile
  const text = await readConfigText(name, resolve(request.folder ?? '', name), requestedFile !== undefined)
  // Loaded only with a file: a demo has none.
  const yaml = text === undefined ? undefined : (await import('./config/yaml.ts')).readYaml(text)
  const yamlProblems =
    yaml?.problems.map(({ line, column, message }) => ({ where: `${name}:${line}:${column}`, message })) ?? []

  const variables = fromEnvironment(request.env)
  const flags = request.flags.map(fromFlag)
  const overrides = [...variables.given, ...flags]
  const problems = [...yamlProblems, ...variables.problems]
  for (const { where, problem: message } of overrides) if (message) problems.push({ where, message })

  const merged = withOverrides(yaml?.value, overrides)
  const { value: settings, problems: schemaProblems } = complete(SettingsSchema, merged)
  if (yamlProblems.length === 0) {
    const source = yaml && { name, yaml }
    const all = schemaProblems.length > 0 ? schemaProblems : problemsBeyondSchema(settings)
    problems.push(...all.map((problem) => locateProblem(problem, settings, overrides, source)))
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    settings,
    sources: {
      file: yaml && name,
      variables: variables.given.map(({ where }) => where),
      flags: flags.map(({ where }) => where),
    },
    configured:
      (yaml !== undefined && !isForDemo(yaml.value)) || variables.given.some(({ leaf }) => isAboutData(leaf.path)),
  }
}

/** Sections that can be tried in the demo. */
const demoSections = ['aliases', 'mcp']

const isAboutData = ([section = '']: readonly string[]): boolean =>
  !['server', 'log', ...demoSections].includes(section)

/** Any other file, even an empty one, means that the demo is not wanted. */
const isForDemo = (value: unknown): boolean =>
  isObject(value) &&
  demoSections.some((section) => section in value) &&
  !Object.keys(value).some((section) => isAboutData([section]))

async function readConfigText(name: string, path: string, needed: boolean): Promise<string | undefined> {
  const refuse = (message: string): never => {
    throw new ConfigError([{ where: name, message }])
  }
  try {
    await using file = await open(path)
    return (await readText(file, fileBytesMax)) ?? refuse(`is longer than ${fileBytesMax} bytes`)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' && !needed) return undefined
    if (code === 'ENOENT') return refuse('does not exist; check --config')
    if (code === 'EISDIR') return refuse('is a folder; give the file')
    if (code === 'EACCES') return refuse('cannot be read: permission denied')
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return refuse('is not UTF-8 text')
    throw error
  }
}

interface Override {
  readonly where: string
  readonly leaf: Leaf
  readonly value?: unknown
  /** Why the text is invalid; then there is no value. */
  readonly problem?: string
}

function fromEnvironment(env: Environment): { given: Override[]; problems: ConfigProblem[] } {
  const given: Override[] = []
  const problems: ConfigProblem[] = []
  for (const [where, text] of Object.entries(env)) {
    // Container tools pass unset variables as empty ones.
    if (!where.startsWith(prefix) || !text || otherVariables.includes(where)) continue
    const leaf = leaves.find(({ variable }) => variable === where)
    if (leaf) given.push({ where, leaf, ...fromText(leaf.node, text) })
    else if (!isServiceLink(where, text)) {
      problems.push({ where, message: `is not a known variable${didYouMean(suggestVariable(where))}` })
    }
  }
  return { given, problems }
}

/** Kubernetes sets such variables for a service named "tetrad". */
const isServiceLink = (name: string, text: string): boolean =>
  /^TETRAD_SERVICE_(HOST|PORT)(_\w+)?$|^TETRAD_PORT_\d+_(TCP|UDP)(_\w+)?$/.test(name) ||
  (name === 'TETRAD_PORT' && /^(tcp|udp):\/\//.test(text))

function fromFlag({ name, path, text }: Flag): Override {
  const leaf = leaves.find((candidate) => candidate.path.join('.') === path)
  if (!leaf) throw new Error(`flag ${name} is for ${path}, which is not a setting`)
  return { where: name, leaf, ...fromText(leaf.node, text) }
}

/** A text of the wrong type is returned unchanged; the schema then reports what is expected. */
function fromText(node: JsonSchema, text: string): { value: unknown } | { problem: string } {
  const types = [node.type].flat()
  const is = (type: string) => types.includes(type)
  if (is('integer') && /^-?\d+$/.test(text)) return { value: Number(text) }
  if (is('number') && /^-?\d+(\.\d+)?$/.test(text)) return { value: Number(text) }
  if (is('boolean') && (text === 'true' || text === 'false')) return { value: text === 'true' }
  if (!is('array') && !is('object')) return { value: text }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { problem: `must be ${is('array') ? 'a list' : 'an object'} written as JSON` }
  }
}

/** The value of the file without nulls, with the overrides. */
function withOverrides(fileValue: unknown, overrides: readonly Override[]): unknown {
  const root =
    fileValue === undefined || fileValue === null ? {} : withoutNulls(structuredClone(fileValue), settingsNode)
  for (const { leaf, value } of overrides) if (value !== undefined) put(root, leaf.path, value)
  return withoutTexts(root, settingsNode)
}

/** Replaces texts by the objects that they mean (`textFor`). */
function withoutTexts(value: unknown, node: JsonSchema): unknown {
  const member = node[textFor]
  if (typeof value === 'string' && member !== undefined) return { [member]: value }
  if (Array.isArray(value) && node.items) return value.map((item) => withoutTexts(item, node.items as JsonSchema))
  if (!isObject(value)) return value
  for (const [name, inner] of membersOf(value, node)) value[name] = withoutTexts(value[name], inner)
  return value
}

/** Those that the value has, with their schemas. */
function membersOf(value: object, { properties = {}, patternProperties = {} }: JsonSchema): [string, JsonSchema][] {
  const patterns = Object.entries(patternProperties)
  return Object.keys(value).flatMap((name): [string, JsonSchema][] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    const schema = own ?? patterns.find(([pattern]) => new RegExp(pattern).test(name))?.[1]
    return schema ? [[name, schema]] : []
  })
}

/** Does nothing if the file has a text or a list instead of a section. The schema reports that. */
function put(holder: unknown, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (!isObject(holder)) return
  if (rest.length === 0) holder[name] = value
  else {
    holder[name] ??= {}
    put(holder[name], rest, value)
  }
}

/** A section whose lines are all commented out is null in YAML. It means the defaults. */
function withoutNulls(value: unknown, node: JsonSchema): unknown {
  if (!isObject(value)) return value
  for (const [name, member] of membersOf(value, node)) {
    if (value[name] === null) delete value[name]
    else withoutNulls(value[name], member)
  }
  return value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function locateProblem(
  { at, message: problem }: Problem,
  settings: unknown,
  overrides: readonly Override[],
  source: { name: string; yaml: YamlFile } | undefined,
): ConfigProblem {
  const unknown = problem === 'is not a known name'
  const value = at.reduce<unknown>((held, step) => (held as Record<string, unknown> | undefined)?.[step], settings)
  const found = at.at(-1) === 'secret' ? '' : describeFound(value, problem)
  const message = `${pathText(at)} ${problem}${unknown ? didYouMean(suggestName(at)) : found}`
  const override = overrides.findLast(({ leaf }) => leaf.path.every((step, index) => step === at[index]))
  if (override) return { where: override.where, message }
  // Two settings contradict each other, and one of them is a default.
  if (!source) return { where: 'the settings', message }
  const { line, column } = source.yaml.positionOf(at, unknown ? 'name' : 'value')
  return { where: `${source.name}:${line}:${column}`, message }
}

const pathText = (at: readonly string[]): string =>
  at.length === 0
    ? 'the file'
    : at.map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : `${index ? '.' : ''}${step}`)).join('')

function describeFound(value: unknown, message: string): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return ', found a list'
  if (isObject(value)) return ', found a section'
  const hint = message.endsWith('string') ? '; put it in quotes' : ''
  return `, found ${typeof value === 'string' ? JSON.stringify(presentable(value).slice(0, foundCharsMax)) : value}${hint}`
}

/** Removes credentials: keys are masked, and URLs are shortened to scheme and host. */
export const presentable = (text: string): string =>
  withoutKeys(text).replace(
    /([a-z][a-z0-9+.-]*:\/\/)(?:[^/\s@]*@)?([^/?#\s]*)([/?#]\S*)?/gi,
    (_, scheme, host, rest) => (rest ? `${scheme}${host}/…` : `${scheme}${host}`),
  )

/** Suggests a setting for an unknown name: a similar one in the same section, or one with this name elsewhere. */
function suggestName(at: readonly string[]): string | undefined {
  const name = at.at(-1) ?? ''
  const sibling = findClosest(name, Object.keys(nodeAt(at.slice(0, -1))?.properties ?? {}))
  return sibling ?? only(leaves.filter(({ path }) => path.at(-1) === name))?.path.join('.')
}

function suggestVariable(name: string): string | undefined {
  const variables = [...leaves.map(({ variable }) => variable), ...otherVariables]
  const closest = findClosest(
    name.slice(prefix.length),
    variables.map((variable) => variable.slice(prefix.length)),
  )
  return closest
    ? prefix + closest
    : only(variables.filter((variable) => variable.endsWith(name.slice(prefix.length - 1))))
}

const only = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined)

const idsOf = (named: readonly { readonly id: string }[]): readonly string[] => named.map(({ id }) => id)

const problemsBeyondSchema = ({ aliases, fx, explorer, store, validators, markets }: Settings): readonly Problem[] => [
  ...aliasProblems(aliases),
  ...fxProblems(fx),
  ...(store.state === '' ? [] : takeoverProblems(fx.sources)),
  ...duplicateProblems(idsOf(explorer.chains), ['explorer', 'chains'], 'id'),
  ...duplicateProblems(idsOf(validators.webhooks), ['validators', 'webhooks'], 'id'),
  ...duplicateProblems(
    validators.programmes.map(({ name }) => name),
    ['validators', 'programmes'],
    'name',
  ),
  ...networkProblems(validators),
  ...duplicateProblems(idsOf(markets.feeds), ['markets', 'feeds'], 'id'),
]
