// What the console shows only while the server runs the demo.
import { useConsoleContext } from '../session.tsx'

export function DemoBanner() {
  const { session } = useConsoleContext()
  if (session.demoKey === undefined) return null
  return (
    <div className="demo" role="note">
      <strong>Demo data.</strong> All names, prices and ratings are generated. Time is compressed: on mainnet, a slot
      lasts 90 minutes and a day has 4 epochs. To use your own data, run <code className="nowrap">npx tetrad init</code>
      .
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
