// For pages that know before a call that it needs a key.
import { DemoKeyButton } from './demo.tsx'
import { noKeyYet } from './failures.ts'

export const NoKeyNote = () => (
  <div className="note warn">
    {noKeyYet} <DemoKeyButton />
  </div>
)
