// The Model Context Protocol server of `tetrad mcp`: one tool for each endpoint that reads, generated from the contract,
// and the guides as resources. Tools call a running server, so its keys, plans and limits apply.
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type CallToolResult, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { type Client, createClient, type ResponseMeta } from '#api/client.ts'
import { contract } from '#api/contract.ts'
import { TetradError, TransportError } from '#api/errors.ts'
import { extensions } from '#api/extensions.ts'
import { stringifyJson } from '#api/json.ts'
import type { Endpoint } from '#api/kit.ts'
import manifest from '../package.json' with { type: 'json' }
import { confidenceText } from './confidence-text.ts'

export interface McpOptions {
  /** URL of the server. */
  readonly baseUrl: string
  readonly key: string | undefined
}

/** Resolves when the host has closed standard input. */
export async function serveMcp(options: McpOptions): Promise<void> {
  const closed = new Promise((resolve) => process.stdin.once('close', resolve))
  const connection = serveStdio(() => createMcpServer(options))
  await closed
  await connection.close()
}

function createMcpServer({ baseUrl, key }: McpOptions): McpServer {
  const server = new McpServer(
    { name: 'tetrad', version: manifest.version },
    {
      instructions:
        'Chain explorer data, FX quotes, validator ratings and prediction markets of one Tetrad server. ' +
        'The resources are its guides. Amounts are exact: do not round them.',
    },
  )
  const client = createClient({ baseUrl, key })
  for (const endpoint of toolEndpoints()) {
    const description = {
      title: endpoint.summary,
      description: `${endpoint.summary} ${endpoint.notes}`,
      inputSchema: fromJsonSchema<object>(toInputSchema(endpoint)),
      annotations: { readOnlyHint: true },
    }
    server.registerTool(toToolName(endpoint), description, (input, { mcpReq }) =>
      callEndpoint(client, baseUrl, endpoint, input, mcpReq.signal),
    )
  }
  for (const { file, title } of listGuides()) {
    const mimeType = 'text/markdown'
    server.registerResource(file, `tetrad://docs/${file}`, { title, mimeType }, async ({ href }) => ({
      contents: [{ uri: href, mimeType, text: await readFile(new URL(file, guidesUrl), 'utf8') }],
    }))
  }
  return server
}

// ------------------------------------------------------------------------------------------------------------------ tools

/** Those that read, and return a single response. */
const toolEndpoints = (): readonly Endpoint[] =>
  [...Object.values<Endpoint>(contract), ...Object.values<Endpoint>(extensions)].filter(
    ({ method, stream }) => method === 'GET' && !stream,
  )

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

/** Errors of the server become results, because an agent can correct its input or try again. */
async function callEndpoint(
  client: Client,
  baseUrl: string,
  { id }: Endpoint,
  input: object,
  signal: AbortSignal,
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
    const advice = error instanceof TransportError ? `. Is a server running at ${baseUrl}?` : ''
    return { content: toContent(`${error.message}${advice}`), isError: true }
  }
}

// ----------------------------------------------------------------------------------------------------------------- guides

const guidesUrl = new URL('../docs/', import.meta.url)

function listGuides(): { readonly file: string; readonly title: string }[] {
  const files = readdirSync(guidesUrl).filter((name) => name.endsWith('.md'))
  return files.sort().map((file) => {
    const [heading = file] = readFileSync(new URL(file, guidesUrl), 'utf8').split('\n', 1)
    return { file, title: heading.replace(/^# /, '') }
  })
}
