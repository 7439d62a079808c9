// A real browser and a server with demo data, for the tests of the console.
//   await using browser = await openBrowser()
//   const page = await browser.page('/explorer')
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after } from 'node:test'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { buildConsole } from './console-build.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

/** Chromium without windows is first, because it takes a sixth less CPU time. */
const chromiumPaths = [
  process.env.CHROMIUM,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const chromiumPath = chromiumPaths.find((path) => path !== undefined && existsSync(path))

/** For the `skip` option of tests: why there is no browser, or false. */
export const noBrowser: string | false =
  chromiumPath === undefined &&
  'Chromium not found: install the package `chromium-headless-shell` or `chromium`, or set CHROMIUM to the path of the program'

export interface Browser extends AsyncDisposable {
  /** All test files of a process share it. Tests may add data, but must not depend on its absence. */
  readonly demo: DemoServer
  /** Opens a page of the console with a key; `key: ''` for none. */
  page(path: string, options?: PageOptions): Promise<Page>
  /** Releases a page. The next test may reuse it, without cookies, stored items, permissions, routes and listeners. */
  leave(page: Page): Promise<void>
  /** Fails if axe finds accessibility violations in the current state of the page. */
  accessible(page: Page): Promise<void>
  /**
   * Checks only rules whose result depends on the style sheet, for a page that `accessible` has checked in another theme
   * or width.
   */
  accessibleStyle(page: Page): Promise<void>
  /** Fails if any page so far has logged an error or a warning. */
  done(): void
}

export interface PageOptions extends BrowserContextOptions {
  readonly key?: string
  /** Do not reuse a page: its cache is empty, and `before` may add functions and scripts that cannot be removed. */
  readonly isNew?: boolean
  /** Runs before the page loads, for example to add routes. */
  readonly before?: (page: Page) => Promise<void>
}

/** For `before`: the tabs of this page see a server with its own data, which gives no demo key to visitors. */
export async function hideDemoKey(page: Page): Promise<void> {
  await page.context().route('**/console/session', async (route) => {
    const response = await route.fetch()
    const { demoKey, ...json } = (await response.json()) as { readonly demoKey?: string }
    assert.match(demoKey ?? '', /^tetrad:demo:/)
    await route.fulfill({ response, json })
  })
}

/** Turn off the browser's own background requests. */
const noBackgroundRequests = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/** On a machine with few cores, more threads and processes take CPU time and save none. */
const fewThreads = ['--in-process-gpu', '--disable-site-isolation-trials', '--js-flags=--single-threaded']

/**
 * All test files of a process share one Chromium and one server. Each page has its own context. A server costs about three
 * seconds of CPU time, because its nodes simulate their chains from the start.
 */
let launching: ReturnType<typeof chromium.launch> | undefined
let starting: Promise<DemoServer> | undefined
after(async () => {
  await (await launching)?.close()
  await (await starting)?.[Symbol.asyncDispose]()
})

function launch(executablePath: string): ReturnType<typeof chromium.launch> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...noBackgroundRequests, ...fewThreads]
  launching ??= chromium.launch({ executablePath, args })
  return launching
}

/** Long enough for a busy machine. */
const pageTimeoutMs = 120_000

/**
 * Released pages. A page in a new context costs about two seconds of CPU time, nearly all of it for the renderer process;
 * a reused page costs a tenth of that.
 */
const idlePages: Page[] = []

const desktop = { width: 1280, height: 900 }

export async function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(noBrowser || '')
  buildConsole()
  const browser = await launch(chromiumPath)
  // All pages have one address, and each loads all files of the console.
  starting ??= openDemoServer({ server: { port: 0, anonymousPerSecond: 0 } })
  const demo = await starting
  // A file of the same origin without scripts, to set the storage before the console loads.
  const blankUrl = new URL('/favicon.svg', demo.url).href
  const contexts = new Set<BrowserContext>()
  const errors: string[] = []
  const reusablePages = new Set<Page>()

  const newPage = async (options: BrowserContextOptions) => {
    const context = await browser.newContext({ viewport: desktop, ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(pageTimeoutMs)
    return page
  }
  const listen = (page: Page) => {
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return
      // The browser logs every 4xx response. Tests check what the page shows.
      if (/^Failed to load resource: .* status of 4\d\d/.test(message.text())) return
      errors.push(`${page.url()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => errors.push(`${page.url()}: ${error.message}`))
  }
  return {
    demo,
    async page(path, { key = demo.key, isNew = false, before, ...options } = {}) {
      const { viewport, colorScheme, ...others } = options
      const isReusable = !isNew && Object.keys(others).length === 0
      const page = (isReusable ? idlePages.pop() : undefined) ?? (await newPage(others))
      contexts.add(page.context())
      if (isReusable) reusablePages.add(page)
      if (viewport !== null) await page.setViewportSize(viewport ?? desktop)
      // An animation draws frames as long as the page is open, and hides its colours from axe while it runs.
      await page.emulateMedia({ colorScheme: colorScheme ?? 'light', reducedMotion: 'reduce' })
      await before?.(page)
      if (page.url() !== blankUrl) await page.goto(blankUrl)
      await page.evaluate((newKey) => {
        localStorage.clear()
        sessionStorage.clear()
        if (newKey !== '') sessionStorage.setItem('tetrad-key', newKey)
      }, key)
      listen(page)
      await page.goto(new URL(path, demo.url).href)
      return page
    },
    leave,
    accessible: (page) => assertAccessible(page),
    accessibleStyle: (page) => assertAccessible(page, styleRules),
    done: () => assert.deepEqual(errors, []),
    async [Symbol.asyncDispose]() {
      await Promise.all([...reusablePages].map(leave))
      await Promise.all([...contexts].map((context) => context.close()))
    },
  }

  async function leave(page: Page): Promise<void> {
    const context = page.context()
    contexts.delete(context)
    if (!reusablePages.delete(page)) return context.close()
    page.removeAllListeners()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await context.setOffline(false)
    await page.goto(blankUrl)
    await context.clearCookies()
    await context.clearPermissions()
    idlePages.push(page)
  }
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

interface FailedCheck {
  readonly message: string
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly {
    readonly target: readonly string[]
    readonly any: readonly FailedCheck[]
    readonly all: readonly FailedCheck[]
    readonly none: readonly FailedCheck[]
  }[]
}

/** Rules about colours and scrolling. */
const styleRules = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable']

async function assertAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  // The content security policy blocks script elements, but not evaluated code.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(readFileSync(axe, 'utf8'))
  const violations = await page.evaluate(async (only) => {
    const { axe: checker } = window as unknown as {
      axe: { configure(options: object): void; run(options: object): Promise<{ violations: Violation[] }> }
    }
    // Selectors name the elements. To collect what passes, and all HTML, takes a quarter of the CPU time.
    checker.configure({ noHtml: true })
    const options = {
      reporter: 'no-passes',
      // Only rules about sound and video need what axe would load once more.
      preload: false,
      ...(only && { runOnly: { type: 'rule', values: only } }),
    }
    return (await checker.run(options)).violations
  }, rules)
  const summary = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, any, all, none }) => {
      const messages = [...any, ...all, ...none].map(({ message }) => message)
      return `${id}: ${help}\n    ${target.join(' ')}\n    ${messages.join('\n    ')}`
    }),
  )
  assert.deepEqual(summary, [])
}
