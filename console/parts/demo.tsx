// What the console shows only while the server runs the demo.
import { useConsoleContext } from '../session.tsx'

export function DemoBanner() {
  const { session } = useConsoleContext()
  if (session.demoKey === undefined) return null
  return (
    <div className="demo" role="note">
      <strong>Demo data.</strong> Everything is generated, and <a href="/docs/try">time is compressed</a>. For your own
      data, run <code className="nowrap">npx tetrad init</code>.
    </div>
  )
}

/** Nothing outside the demo, or if the pages already use its key. */
export function DemoKeyButton({ onUse }: { readonly onUse?: () => void }) {
  const { session, key, setKey } = useConsoleContext()
  const { demoKey } = session
  if (demoKey === undefined || key === demoKey) return null
  const use = () => {
    setKey(demoKey)
    onUse?.()
  }
  return (
    <button type="button" onClick={use}>
      Use the demo key
    </button>
  )
}
