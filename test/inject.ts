// Sends a request to a server without a socket.
import type { RequestListener } from 'node:http'
import send, { type InjectOptions, type Response } from 'light-my-request'

export const inject = (
  server: { readonly listener: RequestListener },
  request: InjectOptions | string,
): Promise<Response> => send(server.listener as Parameters<typeof send>[0], request)
