// Lists as a request reads them.
import type { TestContext } from './context.ts'

export const listsOf = async ({ ingest, markets }: TestContext) => ({
  reader: ingest,
  view: await markets.lists.read(ingest),
})
