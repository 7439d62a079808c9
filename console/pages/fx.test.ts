import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { createLink } from '#admin/sessions.ts'
import { hideDemoKey, noBrowser, openBrowser } from '#test/browser.ts'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)

interface Call {
  readonly method: string
  readonly params?: readonly string[]
}

interface WalletOptions {
  readonly rejects?: boolean
  /** Announce these wallets (EIP-6963) instead of setting `window.ethereum`. Only the last one signs. */
  readonly announced?: readonly string[]
}

/** Injects a wallet into the page, as an extension does. It signs with a real key outside the page. */
function wallet({ rejects = false, announced = [] }: WalletOptions = {}) {
  return async (page: Parameters<NonNullable<import('#test/browser.ts').PageOptions['before']>>[0]) => {
    await page.exposeFunction('callWallet', async ({ method, params = [] }: Call) => {
      if (method === 'eth_requestAccounts') return [account.address]
      if (method === 'eth_chainId') return '0x7a69'
      if (method !== 'eth_signTypedData_v4') throw new Error(`no ${method}`)
      if (rejects) return null
      return account.signTypedData(JSON.parse(params[1] ?? ''))
    })
    await page.addInitScript((names) => {
      const target = window as unknown as { callWallet(call: Call): Promise<unknown>; ethereum: object }
      const provider = {
        request: async (call: Call) => {
          const result = await target.callWallet(call)
          if (result === null) throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
          return result
        },
      }
      if (names.length === 0) target.ethereum = provider
      const locked = { request: async () => [] }
      const announce = () => {
        for (const [at, name] of names.entries()) {
          const info = { uuid: `uuid ${at}`, name, icon: 'data:image/svg+xml,', rdns: `example.wallet${at}` }
          const detail = Object.freeze({ info, provider: at === names.length - 1 ? provider : locked })
          window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
        }
      }
      window.addEventListener('eip6963:requestProvider', announce)
      announce()
    }, announced)
  }
}

const fetchQuote = (page: Page): Promise<object> =>
  page.evaluate(async () => {
    const key = sessionStorage.getItem('tetrad-key')
    const [, , id] = window.location.pathname.split('/')
    const reply = await fetch(`/v1/exchange/fx/quotes/${id}`, { headers: { authorization: `Bearer ${key}` } })
    return reply.json()
  })

test('the FX page', { skip: noBrowser }, async (t) => {
  await using browser = await openBrowser()
  await t.test('a quote can be requested, signed with a wallet, and its signature checked', async () => {
    const page = await browser.page('/#/fx', { before: wallet(), isNew: true })
    await page.getByRole('button', { name: 'Use my wallet address' }).click()
    await page.getByRole('button', { name: 'Get quote' }).click()
    await page.getByRole('heading', { name: 'Quote', exact: true }).waitFor()
    await page.getByText(/s left$/).waitFor()
    const fields = page.getByRole('region', { name: 'Fields of the typed data' })
    await fields.getByText('1000000000', { exact: true }).first().waitFor()
    await fields.getByText('You pay 1,000 USDC').waitFor()
    await page.getByText('from the mid rate').waitFor()
    const { id, to, fee } = (await fetchQuote(page)) as { id: string; to: { amount: string }; fee: string }
    // In millionths, where floats are exact up to 9 × 10^9.
    const net = (Math.round(Number(to.amount) * 1e6) - Math.round(Number(fee) * 1e6)) / 1e6
    // One headline: what arrives. Only rows that explain it show the amount before the fee.
    const ticket = page.getByRole('region', { name: 'Quote', exact: true })
    assert.equal(await ticket.locator('.big').innerText(), `${net} EURC`)
    await ticket.getByText(`${to.amount} EURC`, { exact: true }).waitFor()
    await fields.getByText(`${Number(to.amount)} EURC before the fee`).waitFor()
    assert.equal(await page.getByText(/You receive \d/).count(), 0)

    // The form keeps its fields, so one click requests the same quote again.
    await page.getByRole('button', { name: 'Get quote' }).click()
    await page.waitForURL((url) => /^\/fx\/[\w-]+$/.test(url.pathname) && !url.pathname.endsWith(id))
    await page.getByText(/s left$/).waitFor()

    await page.getByRole('button', { name: 'Sign with wallet' }).click()
    await page.getByText('The signature is valid.').waitFor()
    await page.getByText(account.address).first().waitFor()
    // What to do next: the settlement contract, and complete commands to copy.
    const signed = page.getByRole('region', { name: 'What to do with the signature' })
    await page.locator('#signed:focus').waitFor()
    await signed.getByText('permitWitnessTransferFrom').waitFor()
    const command = await signed.locator('pre', { hasText: '/check-signature' }).innerText()
    const newId = new URL(page.url()).pathname.split('/')[2]
    assert.match(command, new RegExp(`^curl -s '.*/v1/exchange/fx/quotes/${newId}/check-signature'`))
    assert.match(command, /-H "authorization: Bearer \$TETRAD_KEY"/)
    assert.match(command, new RegExp(`"signature":"0x[0-9a-f]{130}","signer":"${account.address}"`))
    assert.equal(await signed.getByRole('button', { name: 'Copy' }).count(), 3)
    await browser.accessible(page)

    // A signature of another message for the same quote.
    const signature = await account.signMessage({ message: 'something else' })
    await page.getByRole('textbox', { name: 'Signature' }).fill(signature)
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('The signature is not valid.').waitFor()
    await browser.leave(page)
    browser.done()
  })

  await t.test('wallets that only announce themselves are found, and one of several can be chosen', async () => {
    const before = wallet({ announced: ['Harbour', 'Lighthouse'] })
    const page = await browser.page('/#/fx', { before, isNew: true })
    await page.getByRole('button', { name: 'Use my wallet address' }).click()
    await page.getByText('The wallet returned no account').waitFor()
    await page.getByLabel('Wallet').selectOption('Lighthouse')
    await page.getByRole('button', { name: 'Use my wallet address' }).click()
    await page.getByRole('button', { name: 'Get quote' }).click()
    const ticket = page.getByRole('region', { name: 'Quote', exact: true })
    await ticket.getByLabel('Wallet').selectOption('Harbour')
    await ticket.getByRole('button', { name: 'Sign with Harbour' }).click()
    await ticket.getByText('The wallet returned no account').waitFor()
    await browser.accessible(page)
    await ticket.getByLabel('Wallet').selectOption('Lighthouse')
    await ticket.getByRole('button', { name: 'Sign with Lighthouse' }).click()
    await page.getByText('The signature is valid.').waitFor()
    await browser.leave(page)
  })

  await t.test('an expired quote cannot be signed, and the next step is to get a new one', async () => {
    const page = await browser.page('/#/fx', { before: wallet(), isNew: true })
    await page.clock.install()
    await page.getByRole('button', { name: 'Use my wallet address' }).click()
    const get = page.getByRole('button', { name: 'Get quote' })
    await get.click()
    const sign = page.getByRole('button', { name: 'Sign with wallet' })
    await sign.waitFor()
    assert.deepEqual([await sign.getAttribute('class'), await get.getAttribute('class')], ['main', null])
    await page.clock.fastForward('01:00:00')
    await page.getByText('This quote has expired, so it can no longer be signed. Get a new one.').waitFor()
    assert.equal(await sign.count(), 0)
    assert.equal(await get.getAttribute('class'), 'main')
    await browser.accessible(page)
    await browser.leave(page)
  })

  await t.test('the quote is next to the form, above the rates', async () => {
    const page = await browser.page('/#/fx')
    await page.getByText('Your quote appears here').waitFor()
    await page.getByLabel('Type').selectOption('reference')
    await page.getByRole('button', { name: 'Get quote' }).click()
    const boxOf = async (name: RegExp) =>
      (await page.getByRole('region', { name }).boundingBox()) ?? assert.fail(`${name} has no box`)
    await page.getByText('There is nothing to sign').waitFor()
    await page.getByRole('region', { name: 'Rate history' }).waitFor()
    const [form, ticket, rates] = [await boxOf(/^Request/), await boxOf(/^Quote$/), await boxOf(/^Rate history/)]
    assert.equal(form.y, ticket.y)
    assert.ok(ticket.x >= form.x + form.width && rates.y >= ticket.y + ticket.height)
    await browser.leave(page)
  })

  await t.test('on a narrow screen, a new quote gets the focus and is visible', async () => {
    const page = await browser.page('/#/fx', { viewport: { width: 390, height: 800 } })
    await page.getByRole('button', { name: 'Use an example' }).click()
    await page.getByRole('button', { name: 'Get quote' }).click()
    await page.locator('#quote:focus').waitFor()
    const ticket = page.getByRole('region', { name: 'Quote', exact: true })
    const { y, height } = (await ticket.boundingBox()) ?? assert.fail('the quote has no box')
    assert.ok(y >= 0 && Math.floor(y + height) <= 800, `the quote is from ${y} to ${y + height} px of 800`)
    await browser.leave(page)
  })

  await t.test('rates are plotted next to the form, and a receipt shows the mid rate as a decimal', async () => {
    const page = await browser.page('/#/fx')
    await page.getByRole('img', { name: 'EUR per USD, by source' }).waitFor()
    await page.getByRole('combobox', { name: /^You pay/ }).selectOption('EURC')
    await page.getByRole('combobox', { name: /^You receive/ }).selectOption('USDC')
    await page.getByRole('img', { name: 'USD per EUR, by source' }).waitFor()
    await page.getByLabel('Type').selectOption('reference')
    await page.getByRole('button', { name: 'Get quote' }).click()
    const receipt = page.getByRole('region', { name: 'Price receipt' })
    await receipt
      .getByText(/^\d+\.\d{3,}$/)
      .first()
      .waitFor()
    await receipt.getByText('USDC per EURC').waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  await t.test('lines of a plot are labelled, its axis is in UTC, and its tooltip in the local time zone', async () => {
    const page = await browser.page('/#/fx', { timezoneId: 'Asia/Kolkata' })
    const plot = page.getByRole('img', { name: 'EUR per USD, by source' })
    await plot.locator('.plot-zone', { hasText: 'UTC' }).waitFor()
    assert.deepEqual(await plot.locator('.plot-label').allTextContents(), ['demo-north', 'demo-south'])
    assert.equal(await page.locator('.plot .legend').count(), 0)
    const tooltip = plot.locator('.plot-tooltip')
    assert.equal(await tooltip.filter({ visible: true }).count(), 0)
    await plot.locator('.u-over').hover()
    await tooltip.getByText(/^\d+ \w+ 20\d\d, \d\d:\d\d:\d\d GMT\+5:30$/).waitFor()
    const values = await tooltip.locator('b').allTextContents()
    assert.equal(values.length, 2)
    for (const value of values) assert.match(value, /^0\.\d{6}$/)
    await browser.accessible(page)
    await browser.leave(page)
  })

  await t.test('a quote of an ended session opens in a new session, from its link and from the list', async () => {
    const { context } = browser.demo.server
    const page = await browser.page(`/#/sign-in/${(await createLink(context)).token}`, { key: '' })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'FX' }).click()
    await page.getByLabel('Type').selectOption('reference')
    await page.getByRole('button', { name: 'Get quote' }).click()
    await page.getByRole('heading', { name: 'Quote', exact: true }).waitFor()
    const link = page.url()
    await page.getByRole('button', { name: 'Sign out' }).click()
    // Otherwise the response could arrive after the next sign-in.
    await page.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'hidden' })
    await page.goto(`${browser.demo.url}/#/sign-in/${(await createLink(context)).token}`)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.goto(link)
    await page.getByRole('heading', { name: 'Quote', exact: true }).waitFor()
    await page.getByRole('region', { name: 'Price receipt' }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'FX' }).click()
    const list = page.getByRole('region', { name: 'Quotes', exact: true })
    await list.locator(`a[href="${new URL(link).pathname}"]`).waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  await t.test('a rejection in the wallet and a missing key each show what happened', async () => {
    const options = { before: wallet({ rejects: true }), isNew: true, viewport: { width: 390, height: 800 } }
    const page = await browser.page('/#/fx', options)
    await page.getByRole('button', { name: 'Use my wallet address' }).click()
    await page.getByRole('button', { name: 'Get quote' }).click()
    await page.getByRole('button', { name: 'Sign with wallet' }).click()
    await page.getByText('You rejected the request in the wallet.').waitFor()
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    assert.equal(overflow, 0)
    await browser.leave(page)

    const withoutKey = await browser.page('/#/fx', { key: '', before: hideDemoKey })
    await withoutKey.getByText('This needs an API key, and none is set. Set a key with the key button').waitFor()
    await browser.leave(withoutKey)
    browser.done()
  })
})
