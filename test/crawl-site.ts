// Follows every link of the documentation site of a server, as a reader or a search engine would.
import assert from 'node:assert/strict'

export interface CrawledPage {
  readonly status: number
  readonly type: string
  readonly body: string
}

const pagesMax = 2000

/** `broken` names each link that does not lead to a file, and a page that has it. Links outside `/docs/` are returned. */
export async function crawlSite(read: (path: string) => Promise<CrawledPage>) {
  const start = '/docs/'
  const sourceOf = new Map([[start, 'the start page']])
  const broken: string[] = []
  const outside = new Set<string>()
  // A map keeps its order and includes what is added during the iteration.
  for (const [path, source] of sourceOf) {
    assert.ok(sourceOf.size <= pagesMax, `more than ${pagesMax} links`)
    const { status, type, body } = await read(path)
    if (status !== 200) broken.push(`${source}: ${path} is ${status}`)
    if (status !== 200 || !type.startsWith('text/html')) continue
    for (const [, href = ''] of body.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      const { origin, pathname } = new URL(href.replaceAll('&amp;', '&'), `http://site.test${path}`)
      if (origin !== 'http://site.test' || !pathname.startsWith(start)) outside.add(href)
      else if (!sourceOf.has(pathname)) sourceOf.set(pathname, path)
    }
  }
  return { paths: [...sourceOf.keys()], broken, outside: [...outside] }
}
