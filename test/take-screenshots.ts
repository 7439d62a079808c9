// Takes the screenshots of the README from a server with demo data: node test/take-screenshots.ts
// The demo is generated from a seed; only times differ from run to run.
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { createLink } from '#admin/sessions.ts'
import { createClient } from '#api/client/client.ts'
import { openBrowser } from './browser.ts'

const folder = join(import.meta.dirname, '../docs/images')
const width = 1200
/** A server of the tests has no version. */
const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  version: string
}

const browser = await openBrowser()
const { demo } = browser
await mkdir(folder, { recursive: true })

/** Takes the top of a page when all given texts are visible. */
async function take(name: string, page: Page, height: number, texts: readonly (string | RegExp)[]): Promise<void> {
  await page.setViewportSize({ width, height })
  for (const text of texts) await page.getByText(text).first().waitFor()
  // Fields that have the focus have an outline.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
  await browser.leave(page)
}

const { token } = await createLink(demo.server.context)
const overview = await browser.page(`/#/sign-in/${token}`, {
  key: '',
  before: async (page) => {
    await page.route('**/console/overview', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...((await response.json()) as object), version } })
    })
  },
})
await take('overview', overview, 810, ['Ready, and all data is up to date', `Version ${version}`])

const trail = await browser.page(`/#/explorer/1/${demo.samples.address}`)
await take('trail', trail, 885, ['The trail leads to a labelled address', 'All finalized blocks of the chain'])

const { entities } = await createClient({ baseUrl: demo.url, key: demo.key }).validators.entities({ kind: 'pool' })
const pools = new URLSearchParams(entities.slice(0, 4).map(({ name }) => ['pool', name]))
const comparison = await browser.page(`/#/validators/compare?network=mainnet&${pools}`)
await comparison.getByRole('img', { name: /^Effectiveness per day/ }).waitFor()
await take('validators', comparison, 1005, ['Missed votes', 'Balance change, ETH'])

const client = createClient({ baseUrl: demo.url, key: demo.key })
const quote = await client.fx.createQuote({
  from: { currency: 'USDC', amount: '1000' },
  ...{ to: { currency: 'EURC' }, tenor: 'instant', recipientAddress: `0x${'11'.repeat(20)}` },
})
const signing = await browser.page(`/#/fx/${quote.id}`)
await signing.getByRole('heading', { name: 'What you sign' }).waitFor()
await signing.setViewportSize({ width, height: 900 })
await signing.locator('#quote').evaluate((heading) => heading.closest('section')?.scrollIntoView())
await take('quote', signing, 900, ['Price receipt'])

await browser[Symbol.asyncDispose]()
// The helper closes the browser after the last test, and there are no tests here. It ends with the process.
process.exit(0)
