// Serves the Model Context Protocol over standard input and output. The tools call a running server.
import { type ServeStdioOptions, serveStdio } from '@modelcontextprotocol/server/stdio'
import { createClient } from '#api/client/client.ts'
import { createMcpServer } from '#operations/mcp/mcp-server.ts'
import manifest from '../package.json' with { type: 'json' }
import { docsPage } from './docs-page.ts'
import { note } from './print.ts'

export interface McpOptions {
  /** URL of the server. */
  readonly baseUrl: string
  readonly key: string | undefined
}

/** Resolves when the host has closed standard input. */
export async function serveMcpOnStdio({ baseUrl, key }: McpOptions): Promise<void> {
  if (process.stdin.isTTY)
    note(`Waiting for the messages of a host. To configure one, see ${docsPage('agents')}. Stop with Ctrl+C.`)
  // A file or /dev/null as standard input ends without being closed.
  const closed = new Promise((resolve) => process.stdin.once('close', resolve).once('end', resolve))
  const connection = serveMcp({ baseUrl, key })
  await closed
  await connection.close()
}

/** `options.transport`: instead of standard input and output. */
export function serveMcp({ baseUrl, key }: McpOptions, options: ServeStdioOptions = {}) {
  const client = createClient({ baseUrl, key })
  const unreachableAdvice = `. Is a server running at ${baseUrl}?`
  return serveStdio(() => createMcpServer({ version: manifest.version, client, unreachableAdvice }), options)
}
