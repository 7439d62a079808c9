// Links to the items of a page that were opened recently.
import { Links } from '../parts/links.tsx'
import type { PageName } from '../route.ts'
import { useRecent } from './recent.ts'

const shownMax = 6

export function RecentLinks({ page }: { readonly page: PageName }) {
  const items = useRecent(page).slice(0, shownMax)
  if (items.length === 0) return null
  return (
    <p className="small examples">
      Recent: <Links of={items} />.
    </p>
  )
}
