// Goal: each page of the console is interactive within a second on the demo: it shows its data, and an empty queue of the
// main thread answers a click. Each page is loaded in a new browser context with an empty cache. The baseline is a page of
// the same server without scripts, loaded in turns. Needs Chromium, like the browser tests.
import { openBrowser } from '#test/browser.ts'
import { median } from './measure.ts'

const goalMs = 1000
const rounds = 3
const pages = ['overview', 'explorer', 'validators', 'fx', 'markets', 'keys']

await using browser = await openBrowser()

/** From the start of the navigation until `isReady`, then until the main thread has nothing left to do. */
async function measure(path: string, isReady: () => boolean): Promise<number> {
  const page = await browser.page('/favicon.svg', { isNew: true })
  try {
    await page.goto(new URL(path, browser.demo.url).href, { waitUntil: 'commit' })
    await page.waitForFunction(isReady, undefined, { polling: 'raf' })
    return await page.evaluate(
      () => new Promise<number>((resolve) => requestIdleCallback(() => resolve(performance.now()))),
    )
  } finally {
    await browser.leave(page)
  }
}

const showsData = () => document.querySelector('main h1') !== null && document.querySelector('.busy') === null
const isLoaded = () => document.readyState === 'complete'

const times = new Map<string, number[]>(['', ...pages].map((name) => [name, []]))
for (let round = 0; round <= rounds; round++) {
  for (const [name, all] of times) {
    const tookMs = await (name === '' ? measure('/favicon.svg', isLoaded) : measure(`/#/${name}`, showsData))
    // The first round fills the caches of the server and of Chromium's code.
    if (round > 0) all.push(tookMs)
  }
}
const emptyMs = median(times.get('') ?? [])
console.log(`a page without scripts ${emptyMs.toFixed(0)} ms`)
for (const name of pages) {
  const tookMs = median(times.get(name) ?? [])
  console.log(
    `${name} ${tookMs.toFixed(0)} ms (goal ≤ ${goalMs}), ${(tookMs / emptyMs).toFixed(1)} × the page without scripts`,
  )
}
// The browser tests close Chromium after the last test; here it would keep the process alive.
process.exit()
