// Serves the Model Context Protocol over standard input and output. The tools call a running server.
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createClient } from '#api/client.ts'
import { createMcpServer } from '#operations/mcp/mcp-server.ts'
import manifest from '../package.json' with { type: 'json' }

export interface McpOptions {
  /** URL of the server. */
  readonly baseUrl: string
  readonly key: string | undefined
}

/** Resolves when the host has closed standard input. */
export async function serveMcpOnStdio({ baseUrl, key }: McpOptions): Promise<void> {
  const closed = new Promise((resolve) => process.stdin.once('close', resolve))
  const client = createClient({ baseUrl, key })
  const unreachableAdvice = `. Is a server running at ${baseUrl}?`
  const connection = serveStdio(() => createMcpServer({ version: manifest.version, client, unreachableAdvice }))
  await closed
  await connection.close()
}
