// The headers of a response as Node takes them: names and values in turn, in lower case.
import type { RenderedOnce } from './handler.ts'

/** Name and value of headers that every response of a path has unless it has its own. */
export type CommonHeaders = readonly (readonly [name: string, value: string])[]

interface Sender {
  readonly id: string
  /** Headers of every response of the path. */
  readonly common: CommonHeaders
}

/** The request id is first. Headers of the response replace the common ones. */
export function headerList({ common, id }: Sender, headers: Readonly<Record<string, string>>): string[] {
  const list = ['x-request-id', id]
  for (const [name, value] of common) if (headers[name] === undefined) list.push(name, value)
  for (const name in headers) list.push(name, headers[name] as string)
  return list
}

/** The same for a response that is sent many times: only the request id changes. */
export function headerListOnce(
  sender: Sender,
  headers: Readonly<Record<string, string>>,
  once: RenderedOnce,
): string[] {
  const { common, id } = sender
  if (once.headers?.common !== common) once.headers = { list: headerList(sender, headers), common }
  const list = once.headers.list.slice()
  list[1] = id
  return list
}
