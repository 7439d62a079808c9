import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { noBrowser, openBrowser } from '#test/browser.ts'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)

interface Call {
  readonly method: string
  readonly params?: readonly string[]
}

/** A wallet as an extension would put it into the page: it signs with a real key, outside the page. */
function wallet(refuses = false) {
  return async (page: Parameters<NonNullable<import('#test/browser.ts').PageOptions['before']>>[0]) => {
    await page.exposeFunction('askWallet', async ({ method, params = [] }: Call) => {
      if (method === 'eth_requestAccounts') return [account.address]
      if (method === 'eth_chainId') return '0x1'
      if (method !== 'eth_signTypedData_v4') throw new Error(`no ${method}`)
      if (refuses) return null
      return account.signTypedData(JSON.parse(params[1] ?? ''))
    })
    await page.addInitScript(() => {
      const own = window as unknown as { askWallet(call: Call): Promise<unknown>; ethereum: object }
      own.ethereum = {
        request: async (call: Call) => {
          const said = await own.askWallet(call)
          if (said === null) throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
          return said
        },
      }
    })
  }
}

const quoteBehind = (page: Page): Promise<object> =>
  page.evaluate(async () => {
    const key = sessionStorage.getItem('tetrad-key')
    const [, , id] = window.location.hash.split('/')
    const reply = await fetch(`/v1/exchange/fx/quotes/${id}`, { headers: { authorization: `Bearer ${key}` } })
    return reply.json()
  })

test('the FX page', { skip: noBrowser }, async (t) => {
  await using browser = await openBrowser()
  await t.test('from a question to a price, a signature by a wallet, and a verdict', async () => {
    const page = await browser.page('/#/fx', { before: wallet() })
    await page.getByRole('button', { name: "My wallet's" }).click()
    await page.getByRole('button', { name: 'Get a price' }).click()
    await page.getByRole('heading', { name: 'Quote', exact: true }).waitFor()
    assert.match(await page.locator('.big').innerText(), /^1000 USDC → \d+(\.\d+)? EURC$/)
    await page.getByText(/s left$/).waitFor()
    const fields = page.getByRole('region', { name: 'Fields of the typed data' })
    await fields.getByText('1000000000', { exact: true }).first().waitFor()
    await fields.getByText('You give 1,000 USDC').waitFor()
    await page.getByText('off the mid').waitFor()
    await browser.accessible(page)
    const { id, to, fee } = (await quoteBehind(page)) as { id: string; to: { amount: string }; fee: string }
    // In millionths, where floats are exact up to nine thousand million.
    const net = (Math.round(Number(to.amount) * 1e6) - Math.round(Number(fee) * 1e6)) / 1e6
    await page.getByText(`${net} EURC`, { exact: true }).waitFor()

    // The form keeps what was typed, so that one that has expired is asked for again by one click.
    await page.getByRole('button', { name: 'Get a price' }).click()
    await page.waitForURL((url) => /^#\/fx\/[\w-]+$/.test(url.hash) && !url.hash.endsWith(id))
    await page.getByText(/s left$/).waitFor()

    await page.getByRole('button', { name: 'Sign with the wallet' }).click()
    await page.getByText('The signature is good.').waitFor()
    await page.getByText(account.address).first().waitFor()
    await browser.accessible(page)

    // The same quote again, by its address, with a signature that is not one over it.
    const signature = await account.signMessage({ message: 'something else' })
    await page.getByRole('textbox', { name: 'Signature' }).fill(signature)
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('The signature is not good.').waitFor()
    await browser.leave(page)
    browser.done()
  })

  await t.test('who refuses in the wallet is told so; who has no key is told what to do', async () => {
    const page = await browser.page('/#/fx', { before: wallet(true), viewport: { width: 390, height: 800 } })
    await page.getByRole('button', { name: "My wallet's" }).click()
    await page.getByRole('button', { name: 'Get a price' }).click()
    await page.getByRole('button', { name: 'Sign with the wallet' }).click()
    await page.getByText('You refused it in the wallet.').waitFor()
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    assert.equal(overflow, 0)
    await browser.leave(page)

    const stranger = await browser.page('/#/fx', { key: '' })
    await stranger.getByText('This needs a key, and none is set yet. Set a key with the button').waitFor()
    await browser.accessible(stranger)
    browser.done()
  })
})
