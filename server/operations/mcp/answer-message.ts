// Answers one message of the Model Context Protocol. The library chooses the protocol version; clients of 2025 and of
// 2026 work.
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ApiResponse } from '#http/render.ts'
import { createMcpServer, type McpServerOptions } from './mcp-server.ts'

export async function answerMessage(
  message: object,
  request: Pick<ApiRequest, 'headers' | 'onCallerGone'>,
  options: McpServerOptions,
): Promise<ApiResponse> {
  const left = new AbortController()
  request.onCallerGone?.(() => left.abort())
  // A subscription would be an endless response, and nothing that is offered changes.
  const handler = createMcpHandler(() => createMcpServer(options), { maxSubscriptions: 0, keepAliveMs: 0 })
  const response = await handler.fetch(
    new Request('http://mcp.invalid/mcp', {
      method: 'POST',
      headers: protocolHeaders(request),
      signal: left.signal,
    }),
    { parsedBody: message },
  )
  const type = response.headers.get('content-type')
  return {
    status: response.status,
    headers: type === null ? {} : { 'content-type': type },
    body: await response.text(),
  }
}

/** The library does not get the key. */
const protocolHeaders = ({ headers }: Pick<ApiRequest, 'headers'>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] => /^(accept|content-type|mcp-.+)$/.test(entry[0]) && entry[1] !== undefined,
    ),
  )
