// Checks the pages of a list: pages of one record each have the records of one large page, in the same order. How the
// next page is requested is in api/pages.ts.
import { type PagedId, pagedEndpoints } from '#api/pages.ts'
import {
  expect,
  expectList,
  expectReply,
  expectSame,
  type Members,
  requireExtension,
  Skipped,
  toList,
} from './check.ts'
import type { RequestChanges, ServerUnderTest } from './server-under-test.ts'

interface PagedList {
  readonly id: PagedId
  readonly input?: Members
  /** Name of the input with the number of records per page. */
  readonly size: 'limit' | 'size'
  /** Records to compare. The check is skipped if there are fewer. */
  readonly count: number
  readonly changes?: RequestChanges
}

interface PageRequest {
  readonly input: Members
  readonly link?: string
}

/** Returns the records. */
export async function expectSamePages(
  server: ServerUnderTest,
  { id, input = {}, size, count, changes }: PagedList,
): Promise<readonly Members[]> {
  const fetchPage = async ({ input: more, link }: PageRequest): Promise<Page> => {
    const call = { ...changes, ...(link !== undefined && { link }) }
    return readPage(id, requireExtension(id, await server.call(id, { ...input, ...more }, call)))
  }
  const { records: whole } = await fetchPage({ input: { [size]: count } })
  if (whole.length < count) throw new Skipped(`${id} has fewer than ${count} records`)
  let request: PageRequest = { input: { [size]: 1 } }
  for (const [at, record] of whole.entries()) {
    const page = await fetchPage(request)
    expectSame(
      page.records.map(identityOf),
      [identityOf(record)],
      `page ${at + 1} of one record does not have record ${at + 1} of the list`,
    )
    if (at + 1 < count) request = nextRequest(id, page, { [size]: 1 }, at + 1)
  }
  return whole
}

/** Other members of a record may change between two requests. */
const identityOf = (record: Members): unknown => record.id ?? record

interface Page {
  readonly reply: Members
  readonly records: readonly Members[]
}

function readPage(id: PagedId, response: Parameters<typeof expectReply>[1]): Page {
  const { records } = pagedEndpoints[id]
  if (records === null) return { reply: {}, records: expectList(id, response) }
  const reply = expectReply(id, response)
  return { reply, records: toList(reply[records], records) }
}

function nextRequest(id: PagedId, { reply }: Page, input: Members, read: number): PageRequest {
  const { next } = pagedEndpoints[id]
  if (next === 'offset') return { input: { ...input, offset: read } }
  if (next === 'number') return { input: { ...input, page: read + 1 } }
  const position = reply[next === 'link' ? 'next' : next.from]
  expect(typeof position === 'string', `page ${read} has no link or cursor to the next one`)
  return next === 'link' ? { input, link: position } : { input: { ...input, [next.to]: position } }
}
