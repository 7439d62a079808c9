// Offers endpoints to AI agents over the Model Context Protocol: one tool for each endpoint that reads, generated from the
// contract, and the guides as resources. `tetrad mcp` and the path /mcp use it. Tools send requests, so keys, plans and
// limits apply as to any other caller.
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type CallToolResult, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import type { Client, ResponseMeta } from '#api/client/client.ts'
import { TetradError, TransportError } from '#api/client/errors.ts'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { stringifyJson } from '#api/contract/json.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { confidenceText } from '../confidence-text.ts'

export interface McpServerOptions {
  readonly version: string
  /** Sends the requests of the tools. */
  readonly client: Client
  /** Added to the message if the server cannot be reached. */
  readonly unreachableAdvice?: string
  /** Which endpoints are offered. Default: all that read. */
  readonly isOffered?: (endpoint: Endpoint) => boolean
}

export function createMcpServer({
  version,
  client,
  unreachableAdvice = '',
  isOffered = () => true,
}: McpServerOptions): McpServer {
  const server = new McpServer({ name: 'tetrad', version }, { instructions })
  for (const { endpoint, name, config } of tools) {
    if (!isOffered(endpoint)) continue
    server.registerTool(name, config, (input, { mcpReq }) =>
      callEndpoint(client, endpoint, input, mcpReq.signal, unreachableAdvice),
    )
  }
  for (const { file, title } of guides) {
    const mimeType = 'text/markdown'
    server.registerResource(file, `tetrad://docs/${file}`, { title, mimeType }, async ({ href }) => ({
      contents: [{ uri: href, mimeType, text: await readFile(new URL(file, guidesUrl), 'utf8') }],
    }))
  }
  return server
}

const instructions =
  'Chain explorer data, FX quotes, validator ratings and prediction markets of one Tetrad server. ' +
  'The resources are its guides. Amounts are exact: do not round them.'

// ------------------------------------------------------------------------------------------------------------------ tools

function toTool(endpoint: Endpoint) {
  return {
    endpoint,
    name: toToolName(endpoint),
    config: {
      title: endpoint.summary,
      description: `${endpoint.summary} ${endpoint.notes}`,
      inputSchema: fromJsonSchema<object>(toInputSchema(endpoint)),
      annotations: { readOnlyHint: true },
    },
  }
}

/** Some hosts do not allow dots. */
const toToolName = ({ id }: Endpoint): string => id.replace('.', '_')

/**
 * The contract requires inputs that have a default, but callers need not send them. Unknown inputs are refused, because
 * the HTTP interface ignores them and an agent would not notice its mistake. `x-…` is for our own validation.
 */
function toInputSchema({ input }: Endpoint): { type: 'object' } {
  const text = JSON.stringify(input, (name, value) => (name.startsWith('x-') ? undefined : value))
  const schema = JSON.parse(text) as {
    type: 'object'
    properties: Record<string, { default?: unknown }>
    required?: string[]
  }
  const required = (schema.required ?? []).filter((name) => schema.properties[name]?.default === undefined)
  return { ...schema, required, additionalProperties: false } as { type: 'object' }
}

/** Created once, because over HTTP every request has a server of its own. */
const tools = [...Object.values<Endpoint>(contract), ...Object.values<Endpoint>(extensions)]
  .filter(({ method, stream }) => method === 'GET' && !stream)
  .map(toTool)

/** Errors of the server become results, because an agent can correct its input or try again. */
async function callEndpoint(
  client: Client,
  { id }: Endpoint,
  input: object,
  signal: AbortSignal,
  unreachableAdvice: string,
): Promise<CallToolResult> {
  let meta: ResponseMeta | undefined
  const onResponse = (received: ResponseMeta) => {
    meta = received
  }
  const toContent = (text: string): CallToolResult['content'] =>
    [text, meta ? (confidenceText(meta) ?? '') : ''].filter(Boolean).map((part) => ({ type: 'text', text: part }))
  try {
    const reply = await client.call(id, input as never, { signal, onResponse })
    return { content: toContent(stringifyJson(reply)) }
  } catch (error) {
    if (!(error instanceof TetradError)) throw error
    const advice = error instanceof TransportError ? unreachableAdvice : ''
    return { content: toContent(`${error.message}${advice}`), isError: true }
  }
}

// ----------------------------------------------------------------------------------------------------------------- guides

const guidesUrl = new URL('../../../docs/', import.meta.url)

const guides = readdirSync(guidesUrl)
  .filter((name) => name.endsWith('.md'))
  .sort()
  .map((file) => {
    const [heading = file] = readFileSync(new URL(file, guidesUrl), 'utf8').split('\n', 1)
    return { file, title: heading.replace(/^# /, '') }
  })
