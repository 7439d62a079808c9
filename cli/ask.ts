// `tetrad ask <endpoint> …`: calls an endpoint of a running server. Options and help are generated from the contract:
// one subcommand per endpoint, inputs named as in the API. Members of an object are written with a dot:
// `--from.currency USDC`.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { createClient, type ResponseMeta } from '#api/client/client.ts'
import { TetradError, TransportError } from '#api/client/errors.ts'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import type { JsonSchema } from '#api/contract/schema.ts'
import { confidenceText } from '#operations/confidence-text.ts'
import { CommandFailure } from './failure.ts'
import { ownCommand } from './own-command.ts'
import { note, printResult } from './print.ts'
import { withActivity } from './progress.ts'
import { addressOf, type CommonOptions } from './settings.ts'

/** Longer lists of choices are not printed in the help. */
const choicesMax = 20

/** An option of the command line, and the path of its value in the input. */
interface CommandInput {
  readonly path: readonly string[]
  readonly node: JsonSchema
  readonly isRequired: boolean
}

export function addAsk(program: Command): void {
  const ask = program.command('ask').description('Call an endpoint of a running server. Each endpoint is a subcommand.')
  const all: readonly Endpoint[] = [...Object.values(contract), ...Object.values(extensions)]
  // Streams do not return a single response.
  for (const endpoint of all.filter(({ stream }) => !stream)) addEndpoint(ask, endpoint)
}

function addEndpoint(ask: Command, endpoint: Endpoint): void {
  const inputs = inputsOf(endpoint.input as unknown as JsonSchema, [], true)
  const command = ask
    .command(endpoint.id)
    .summary(endpoint.summary)
    .description(
      `${endpoint.summary}\n${endpoint.notes}\n${endpoint.method} ${endpoint.path}, ${specOf(endpoint.spec)}.`,
    )
    .addHelpText('after', `\nExample:\n  $ tetrad ask ${endpoint.id} ${exampleOf(endpoint.example.input)}`)
  for (const input of inputs) command.addOption(optionOf(input))
  command
    .option(
      '--url <url>',
      'URL of the server (default: TETRAD_URL, the server on the data folder, or the configured address)',
    )
    .option('--key <key>', 'API key (better: TETRAD_KEY, which other users of the machine cannot see)')
    .action(async (_: unknown, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<
        CommonOptions & { url?: string; key?: string } & Record<string, unknown>
      >()
      const key = options.key ?? (process.env.TETRAD_KEY || undefined)
      const baseUrl = await addressOf(options)
      const client = createClient({ baseUrl, key })
      let meta: ResponseMeta | undefined
      const onResponse = (received: ResponseMeta) => {
        meta = received
      }
      try {
        const call = () => client.call(endpoint.id, inputFrom(inputs, options) as never, { onResponse })
        const reply = await withActivity(`Waiting for ${baseUrl}`, call, { quiet: options.json })
        printResult(options, reply, stringifyJson(reply, 2))
      } catch (error) {
        if (key === undefined && error instanceof TetradError && /authenticated|API key/i.test(error.message))
          throw new CommandFailure('ask.refused', `${error.message}. Pass a key with --key or TETRAD_KEY.`)
        if (key !== undefined && error instanceof TetradError && isUnknownKey(error))
          throw new CommandFailure('ask.refused', `${error.message.replace(/\.$/, '')}. ${unknownKeyAdvice()}`)
        throw error instanceof TransportError ? toConnectionFailure(error, baseUrl) : error
      } finally {
        // Also for errors: "not found" may change while data is being read.
        const confidence = meta && !options.json ? confidenceText(meta) : undefined
        if (confidence) note(confidence)
      }
    })
}

/** The key does not exist, is revoked or has expired. Errors of the explorer have the status 200. */
const isUnknownKey = ({ status, message }: TetradError): boolean =>
  status === 401 || message.endsWith('Invalid API Key')

const unknownKeyAdvice = (): string =>
  `The server does not accept this key. Check it with \`${ownCommand()} keys list\`, or create one with \`${ownCommand()} keys create\`.`

const toConnectionFailure = ({ reason, message }: TransportError, baseUrl: string): CommandFailure =>
  new CommandFailure(`ask.${reason}`, `${message}. Is a server running at ${baseUrl}? Use --url for another address.`)

const specOf = (spec: string): string => (spec === 'beyond' ? 'not in the specification' : `specification ${spec}`)

export function inputsOf(node: JsonSchema, path: readonly string[], isRequired: boolean): CommandInput[] {
  if (!node.properties) return [{ path, node, isRequired: isRequired && node.default === undefined }]
  return Object.entries(node.properties).flatMap(([name, member]) =>
    inputsOf(member, [...path, name], isRequired && (node.required ?? []).includes(name)),
  )
}

function optionOf({ path, node, isRequired }: CommandInput): Option {
  const flag = `--${path.join('.')}`
  const isList = node.type === 'array'
  const value = isList ? 'list' : (node.type ?? 'text')
  const choices = node.enum ?? (node.type === 'boolean' ? ['true', 'false'] : undefined)
  const description = [
    node.description ?? (isList ? `${node.items?.type ?? 'text'}s, separated by commas.` : ''),
    choices && choices.length <= choicesMax ? `One of ${choices.join(', ')}.` : '',
    node.default === undefined ? '' : `(default: ${JSON.stringify(node.default)})`,
    isRequired ? '(required)' : '',
  ]
  return new Option(`${flag} <${value}>`, description.filter(Boolean).join(' '))
    .argParser((text, before: unknown) =>
      isList ? [...((before as unknown[]) ?? []), ...itemsOf(node, text)] : readValue(node, text),
    )
    .makeOptionMandatory(isRequired)
}

const itemsOf = (node: JsonSchema, text: string): unknown[] =>
  text.split(',').map((item) => readValue(node.items ?? {}, item.trim()))

function readValue(node: JsonSchema, text: string): unknown {
  if (node.enum && !node.enum.includes(text))
    throw new InvalidArgumentError(`It must be one of ${node.enum.join(', ')}.`)
  if (node.type === 'integer') {
    if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
    return Number(text)
  }
  if (node.type === 'object') return objectOf(text)
  if (node.type === 'boolean') {
    if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('It must be true or false.')
    return text === 'true'
  }
  return text
}

function objectOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
}

/** Builds the input of the client from the options: `from.currency` becomes a member of `from`. */
function inputFrom(
  inputs: readonly CommandInput[],
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const { path } of inputs) {
    const value = options[path.join('.')]
    if (value === undefined) continue
    const [first = '', second] = path
    input[first] = second === undefined ? value : { ...(input[first] as object | undefined), [second]: value }
  }
  return input
}

function exampleOf(input: object): string {
  const flags = Object.entries(input).flatMap(([name, value]): string[] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`--${name} ${shellWord(value)}`]
    return Object.entries(value).map(([member, inner]) => `--${name}.${member} ${shellWord(inner)}`)
  })
  return flags.join(' ')
}

/** Quotes a value with spaces, so that the example can be copied to a shell. */
const shellWord = (value: unknown): string => (/\s/.test(String(value)) ? `'${String(value)}'` : String(value))
