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

/** Injects a wallet into the page, as an extension does. It signs with a real key outside the page. */
function wallet(rejects = false) {
  return async (page: Parameters<NonNullable<import('#test/browser.ts').PageOptions['before']>>[0]) => {
    await page.exposeFunction('callWallet', async ({ method, params = [] }: Call) => {
      if (method === 'eth_requestAccounts') return [account.address]
      if (method === 'eth_chainId') return '0x7a69'
      if (method !== 'eth_signTypedData_v4') throw new Error(`no ${method}`)
      if (rejects) return null
      return account.signTypedData(JSON.parse(params[1] ?? ''))
    })
    await page.addInitScript(() => {
      const target = window as unknown as { callWallet(call: Call): Promise<unknown>; ethereum: object }
      target.ethereum = {
        request: async (call: Call) => {
          const result = await target.callWallet(call)
          if (result === null) throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
          return result
        },
      }
    })
  }
}

const fetchQuote = (page: Page): Promise<object> =>
  page.evaluate(async () => {
    const key = sessionStorage.getItem('tetrad-key')
    const [, , id] = window.location.hash.split('/')
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
    await page.waitForURL((url) => /^#\/fx\/[\w-]+$/.test(url.hash) && !url.hash.endsWith(id))
    await page.getByText(/s left$/).waitFor()

    await page.getByRole('button', { name: 'Sign with wallet' }).click()
    await page.getByText('The signature is valid.').waitFor()
    await page.getByText(account.address).first().waitFor()
    await browser.accessible(page)

    // A signature of another message for the same quote.
    const signature = await account.signMessage({ message: 'something else' })
    await page.getByRole('textbox', { name: 'Signature' }).fill(signature)
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('The signature is not valid.').waitFor()
    await browser.leave(page)
    browser.done()
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
    await list.locator(`a[href="${new URL(link).hash.replace('#', '/#')}"]`).waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  await t.test('a rejection in the wallet and a missing key each show what happened', async () => {
    const options = { before: wallet(true), isNew: true, viewport: { width: 390, height: 800 } }
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
