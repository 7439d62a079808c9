// What a person does on the Explorer page, in a real browser against the demo world.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'

describe('Explorer page', { skip: noBrowser }, () => {
  let browser: Browser
  let address = ''
  before(async () => {
    browser = await openBrowser()
    address = browser.demo.samples.address
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    browser.done()
  })

  const open = (place: string, options = {}) => browser.page(`/#/explorer${place}`, options)
  const picture = (page: Awaited<ReturnType<typeof open>>) =>
    page.getByRole('group', { name: /^Trail of first fundings/ })

  test('from an address to its first funding and its trail, and on from an address of the trail', async () => {
    const page = await open('')
    await page.getByRole('searchbox', { name: 'Address or name' }).fill(` ${address.toUpperCase().replace('0X', '0x')}`)
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByText('Every final block of the chain has been read. Rests on block').waitFor()
    const funder = (await page.locator('dl.facts a').textContent()) ?? ''
    const nodes = picture(page).getByRole('link')
    await nodes.nth(3).waitFor()
    assert.equal(await nodes.count(), 4)
    assert.match((await nodes.nth(3).textContent()) ?? '', /3 hops back · named.+ Exchange/)
    await page.getByText('It leads to a named address').waitFor()
    await browser.accessible(page)

    await page.getByText('The trail as a list').click()
    await page
      .getByRole('row', { name: /^2 / })
      .getByText(/^0\.\d{18} ETH$/)
      .waitFor()
    await browser.accessible(page)

    // From the keyboard, as any link.
    await nodes.nth(1).focus()
    await page.keyboard.press('Enter')
    await picture(page).getByRole('link').nth(2).waitFor()
    assert.ok(page.url().endsWith(`/#/explorer/1/${funder}`))
    assert.equal(await picture(page).getByRole('link').count(), 3)
    await page.goBack()
    await nodes.nth(3).waitFor()
    await browser.leave(page)
  })

  test('a trail that was cut off goes deeper, and a hundred hops wrap', async () => {
    const page = await open(`/1/${address}?depth=2`)
    await page.getByText('no more hops were asked for').waitFor()
    assert.equal(await picture(page).getByRole('link').count(), 3)
    await page.getByRole('link', { name: 'Go deeper: up to 4 hops' }).click()
    await page.getByText('It leads to a named address').waitFor()
    await browser.leave(page)

    const long = await open(`/1/${address}?depth=100`, {
      viewport: { width: 360, height: 800 },
      before: async (fresh: typeof page) =>
        fresh.route('**/v2/trail*', (route) => route.fulfill({ json: longTrail(100) })),
    })
    const nodes = picture(long).getByRole('link')
    await nodes.nth(100).waitFor()
    assert.equal(await nodes.count(), 101)
    assert.ok(await fits(long))
    const onwards = long.getByRole('link', { name: /^Go on from 0x/ })
    assert.ok((await onwards.getAttribute('href'))?.endsWith(nth(100)))
    await browser.leave(long)
  })

  test('what cannot be answered is said in plain words, with a way on', async () => {
    const never = `0x${'0123456789'.repeat(4)}`
    const cases: readonly (readonly [place: string, words: RegExp])[] = [
      [`/1/${never}`, /^Never funded: no transfer of the chain’s own coin/],
      [`/137/${never}`, /Blocks 80 to 139 of chain 137 have not been read yet/],
      [`/5/${never}`, /This server does not read chain 5\. It reads Ethereum \(1\), Polygon \(137\)\./],
      ['/1/0x12', /0x12 is not an address/],
    ]
    for (const [place, words] of cases) {
      const page = await open(place)
      await page.getByText(words).waitFor()
      // The trail has nothing to add.
      await page.getByRole('heading', { name: 'Trail' }).waitFor({ state: 'detached' })
      await browser.leave(page)
    }
    const stranger = await open(`/1/${address}`, { key: '' })
    await stranger
      .getByText(/^This needs a key, and none is set yet\. Set a key with the button/)
      .first()
      .waitFor()
    await browser.leave(stranger)
  })

  test('the label list can be looked through and taken away', async () => {
    const page = await open('')
    await page.getByText(/^Page 1 of 6, 120 of 120$/).waitFor()
    await page.getByRole('button', { name: 'On', exact: true }).click()
    await page.getByText(/^Page 2 of 6/).waitFor()
    await page.getByLabel('Only those with these words').fill('HARBOUR mining')
    await page.getByText(/^Page 1 of 1, 1 of 120$/).waitFor()
    assert.match(page.url(), /\?only=HARBOUR\+mining$/)
    await browser.accessible(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    assert.equal(download.suggestedFilename(), 'labelmasterlist_latest.csv')
    await page.getByLabel('Chain').selectOption('137')
    await page.getByText(/^Page 1 of 1, 20 of 20$/).waitFor()
    await browser.leave(page)

    const poor = await open('', { key: await browser.demo.keyFor('standard') })
    await poor.getByText('This endpoint needs the enterprise plan').waitFor()
    await browser.leave(poor)
  })

  test('from a name to its addresses and what funded them', async () => {
    const page = await open('')
    await page
      .getByText('Try one of these:')
      .getByRole('link', { name: /Exchange/ })
      .first()
      .waitFor()
    await page.getByRole('searchbox', { name: 'Address or name' }).fill('COBALT exch')
    await page.keyboard.press('Enter')
    await page.getByText('entity cobalt-exchange').first().waitFor()
    assert.match(page.url(), /#\/explorer\/1\?q=COBALT\+exch$/)
    await browser.accessible(page)
    const found = page
      .getByRole('row', { name: /^Cobalt Exchange: hot wallet/ })
      .first()
      .getByRole('link')
    const wallet = (await found.textContent()) ?? ''
    await found.click()
    await page.getByText(/^This is Cobalt Exchange: hot wallet/).waitFor()
    // The beginning of an address finds it too.
    await page.getByRole('searchbox', { name: 'Address or name' }).fill(wallet.slice(0, 12))
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: wallet }).waitFor()
    await page.getByRole('searchbox', { name: 'Address or name' }).fill('nobody at all')
    await page.keyboard.press('Enter')
    await page.getByText('Nobody is called so here.').waitFor()
    await browser.leave(page)
  })

  test('in the dark on a narrow screen nothing is wider than the screen', async () => {
    for (const place of ['', '/1?q=exchange', `/1/${address}`]) {
      const page = await open(place, { colorScheme: 'dark', viewport: { width: 360, height: 800 } })
      await page.locator('.trail a, .pager, td a').first().waitFor()
      assert.ok(await fits(page), place)
      await browser.accessible(page)
      await browser.leave(page)
    }
  })

  const fits = (page: Awaited<ReturnType<typeof open>>): Promise<boolean> =>
    page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)
})

const nth = (hop: number): string => `0x${hop.toString(16).padStart(40, '0')}`

function longTrail(length: number): object {
  const hops = Array.from({ length }, (_, hop) => ({
    address: nth(hop),
    block: 1000 - hop,
    timeStamp: String(1_790_000_000 - hop * 1000),
    fundingAddress: nth(hop + 1),
    fundingTxn: `0x${'a'.repeat(64)}`,
    value: '1',
  }))
  const end = { reason: 'depth', address: nth(length), message: 'It goes on.' }
  return { status: '1', message: 'OK', result: { chainid: '1', address: nth(0), hops, end } }
}
