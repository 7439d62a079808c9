// The API key that the open tabs of a browser share. Each tab keeps it until it is closed. A new tab asks the
// others for it, and a change applies to all of them. It is not in `localStorage`, which outlives the tabs.

/** Also the name of the channel between the tabs. */
const itemName = 'tetrad-key'
const keyCharsMax = 200

/** A key, or the question for it. An empty key removes it. */
type Message = { readonly key: string } | 'ask'

export interface TabKey {
  read(): string
  /** For this tab. */
  keep(key: string): void
  /** For all tabs. */
  share(key: string): void
  close(): void
}

/** `onChange` gets the keys that other tabs share. */
export function openTabKey(onChange: (key: string) => void): TabKey {
  const channel = new BroadcastChannel(itemName)
  const send = (message: Message) => channel.postMessage(message)
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    const key = readTabKey()
    if (data === 'ask' && key !== '') send({ key })
    const { key: other } = Object(data) as { readonly key?: unknown }
    if (typeof other !== 'string' || other.length > keyCharsMax || other === key) return
    keepKey(other)
    onChange(other)
  }
  if (readTabKey() === '') send('ask')
  return {
    read: readTabKey,
    keep: keepKey,
    share(key) {
      keepKey(key)
      send({ key })
    },
    close: () => channel.close(),
  }
}

/** Browsers can block the storage; then a key lasts as long as the page. */
let unstored = ''

export function readTabKey(): string {
  try {
    return sessionStorage.getItem(itemName) ?? ''
  } catch {
    return unstored
  }
}

function keepKey(key: string): void {
  unstored = key
  try {
    if (key === '') sessionStorage.removeItem(itemName)
    else sessionStorage.setItem(itemName, key)
  } catch {
    // Blocked.
  }
}

/** Whether a visitor of the demo uses the demo's key: there is no key, or only that of an earlier start. */
export const needsDemoKey = (key: string): boolean => key === '' || key.startsWith('tetrad:demo:')
