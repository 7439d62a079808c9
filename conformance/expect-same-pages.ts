// Checks the pages of a list: pages of one record each have the records of one large page, in the same order. How the
// next page is requested is in api/client/pages.ts.
import { nextRequest, type PagedId, type PageRequest, recordsOf } from '#api/client/pages.ts'
import { expect, expectBody, expectSame, type Members, requireExtension, Skipped } from './check.ts'
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

/** Returns the records. */
export async function expectSamePages(
  server: ServerUnderTest,
  { id, input = {}, size, count, changes }: PagedList,
): Promise<readonly Members[]> {
  const fetchPage = async ({ input: pageInput, query: pageQuery }: PageRequest): Promise<unknown> =>
    expectBody(id, requireExtension(id, await server.call(id, pageInput, { ...changes, pageQuery })))
  const whole = recordsOf(id, await fetchPage({ input: { ...input, [size]: count } })) as readonly Members[]
  if (whole.length < count) throw new Skipped(`${id} has fewer than ${count} records`)
  let request: PageRequest | undefined = { input: { ...input, [size]: 1 } }
  for (const [at, record] of whole.entries()) {
    expect(request !== undefined, `page ${at} has no link or cursor to the next one`)
    const page = await fetchPage(request)
    expectSame(
      (recordsOf(id, page) as readonly Members[]).map(identityOf),
      [identityOf(record)],
      `page ${at + 1} of one record does not have record ${at + 1} of the list`,
    )
    request = nextRequest(id, request, page)
  }
  return whole
}

/** Other members of a record may change between two requests. */
const identityOf = (record: Members): unknown => record.id ?? record
