/** Starts Swagger UI on the service's own OpenAPI document; light or dark as the system asks. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);

window.SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('reference'),
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
});
