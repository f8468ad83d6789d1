/** Enables only the ways to pay that accept the chosen tier. */
const rails = [...document.querySelectorAll('input[name="rail"]')];

function offer() {
  const tier = document.querySelector('input[name="tier"]:checked')?.value;
  for (const rail of rails) rail.disabled = !rail.dataset.tiers.split(' ').includes(tier);
  const chosen = rails.find(({ checked }) => checked);
  if (chosen === undefined || chosen.disabled) {
    const first = rails.find(({ disabled }) => !disabled);
    if (first !== undefined) first.checked = true;
  }
}

addEventListener('change', ({ target }) => {
  if (target.name === 'tier') offer();
});
// A browser restores the earlier choice when it goes back to the page.
addEventListener('pageshow', offer);
offer();
