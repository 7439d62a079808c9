// A new key with its secret. The server does not store the secret, so this is the only time it is shown.
import { Copyable } from '../../parts/copyable.tsx'

export function ShownOnce({ text }: { readonly text: string }) {
  return (
    <div className="note good" role="status">
      Copy the key now and store it safely: it is not shown again.
      <Copyable title="API key" text={text} />
    </div>
  )
}
